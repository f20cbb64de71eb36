"""Assertions of the shared contract explain themselves as those of the tests do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("support.store_contract")
