"""The methods that the DFOP paper compares with, and newer ones, in its protocol."""
