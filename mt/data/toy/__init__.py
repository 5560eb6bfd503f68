"""A toy English-German corpus, written by a grammar: lexicon, feature structures, two linearisers, constructions."""
