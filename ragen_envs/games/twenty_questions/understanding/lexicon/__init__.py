"""What words and phrases mean, as the tables say."""
