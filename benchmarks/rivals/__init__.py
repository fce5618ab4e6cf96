"""The methods that the DFOP paper compares with, and today's, in its protocol."""
