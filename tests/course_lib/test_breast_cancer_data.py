import numpy as np
import pytest
import sklearn.datasets

from course_lib import data


def test_the_patients_are_scikit_learns_and_kept_on_record():
    found = data.load_breast_cancer()
    assert (found.x.shape, found.y.sum(), (found.y == 0).sum()) == ((569, 30), 357, 212)
    assert found.feature_names[0] == "mean radius"
    assert found.x[0, 0] == 17.99  # of the first patient, whose tumour is malignant
    assert found.y[0] == 0
    assert data.files_read()["sklearn.datasets: breast cancer"] == data._BREAST_CANCER_SHA256


def test_other_patients_are_refused(monkeypatch):
    bunch = sklearn.datasets.load_breast_cancer()
    bunch.data = np.where(bunch.data == 17.99, 17.98, bunch.data)
    monkeypatch.setattr(sklearn.datasets, "load_breast_cancer", lambda: bunch)
    with pytest.raises(data.DataError, match=r"has changed: its SHA-256.*requirements.txt"):
        data.load_breast_cancer()
