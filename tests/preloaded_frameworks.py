"""What each recorded program needs that trains by a framework: importing these takes longer than most programs."""
# ruff: noqa: F401

from __future__ import annotations

import gc

import accelerate
import lightning
import lightning.pytorch.demos.boring_classes
import transformers.models.bert.modeling_bert
import transformers.models.gpt2.modeling_gpt2
import transformers.models.t5.modeling_t5
import transformers.trainer

import tests.harness

tests.harness.count_shared_modules()
gc.collect()
gc.freeze()
