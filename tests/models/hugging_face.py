from transformers import BertConfig, BertForSequenceClassification


class Classifier(BertForSequenceClassification):
    def __init__(self):
        config = BertConfig(
            vocab_size=100,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=40,
            num_labels=3,
        )
        super().__init__(config)
