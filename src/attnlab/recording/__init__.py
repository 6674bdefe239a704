"""Running a program and writing down what happened. The only room that intercepts PyTorch.

Nothing is imported here: a program is run before it has imported torch.
"""
