"""Pictures for an article, as SVG: the flow of an attention, and a heat map of its weights.

numbers   a matrix of the scene, as numbers      flow   every tensor of an attention, to scale, and what makes it
colour    a number as a colour                   heat   the weights, rows and columns labelled
svg       elements as text                       raster an SVG as PNG
"""
