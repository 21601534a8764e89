"""Deep clustering beside its peers, every method from the same pre-trained autoencoder."""
