"""One file a format. `contextfold.transcripts.registry` knows them all; nothing else needs to."""
