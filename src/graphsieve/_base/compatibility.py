"""Functions that scikit-learn has only since version 1.6.

With an older version, the error message names the required version.
"""

from __future__ import annotations

import sklearn

try:
    from sklearn.utils import get_tags
    from sklearn.utils.validation import validate_data
except ImportError as error:
    raise ImportError(
        f"graphsieve needs scikit-learn 1.6 or newer, but {sklearn.__version__} is installed; pip "
        "install -U scikit-learn."
    ) from error

__all__ = ["get_tags", "validate_data"]
