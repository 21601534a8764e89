"""The peers of DeepClAM, as published, on an autoencoder that is handed over."""
