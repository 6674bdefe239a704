"""The playground: a server for one person, the process that runs their code, and the page that is built from `web/`."""
