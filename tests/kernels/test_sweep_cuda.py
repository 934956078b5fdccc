"""The sweep on a GPU: on numba's simulator, and on a GPU where there is one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ssi_core as ssi
from benchmarks import cuda as benchmark
from ssi_core import code
from ssi_core.models.bilinear_cuda import BilinearCuda
from ssi_core.training.device import require_device
from ssi_core.types import Refused

CHECKS = Path(__file__).with_name("sweep_cuda_checks.py")


def device():
    try:
        return require_device()
    except Refused:
        return None


def run(*options, **environment):
    """Run the checks in a process of their own: numba reads its variables once."""
    command = [sys.executable, "-m", "pytest", str(CHECKS), "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-p", "no:xdist", *options],
        env=os.environ | environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_the_sweep_in_the_simulator():
    # Its integers are numpy's, which warn of arithmetic modulo 2**64.
    run("-W", "ignore::RuntimeWarning", NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1")


@pytest.mark.skipif(device() is None, reason="no GPU that numba can use: simulated only")
def test_the_sweep_on_a_gpu():
    run(NUMBA_ENABLE_CUDASIM="0", NUMBA_DISABLE_JIT="0")


@pytest.mark.skipif(device() is not None, reason="there is a GPU")
def test_without_a_gpu_a_training_is_refused():
    with pytest.raises(Refused, match=r"device 'cuda': numba finds no GPU .* device 'cpu'"):
        BilinearCuda().learn(None, None, None)


@pytest.mark.skipif(device() is not None, reason="there is a GPU")
def test_without_a_gpu_nothing_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["benchmarks.cuda"])
    with pytest.raises(SystemExit) as ended:
        benchmark.main()
    assert ended.value.code == 4
    assert "numba finds no GPU" in capsys.readouterr().err


def test_without_the_target_a_training_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.cuda", None)
    monkeypatch.delattr("numba.cuda", raising=False)
    with pytest.raises(Refused, match=r"device 'cuda': numba has no target .* numba-cuda"):
        BilinearCuda().learn(None, None, None)


@pytest.mark.parametrize(
    "setting",
    [
        {"form": "zero", "diagonal": "learned"},
        {"storage": "float16"},
        {"adagrad": True},
        {"warp": True},
        {"against": "shown"},
        {"negatives_power": 0.5},
        {"negatives_power": (0.0, 0.5)},
    ],
    ids=str,
)
def test_settings_without_a_kernel_are_refused(setting):
    name = next(iter(setting))
    with pytest.raises(ValueError, match=rf"{name}=.*: the device makes {name}=.* alone"):
        BilinearCuda(**setting)


def test_the_device_is_a_setting_of_ssi():
    model = ssi.SSI(device="cuda", dimensions=7).ranker()
    assert isinstance(model, BilinearCuda)
    assert (model.dimensions, model.repeats) == (7, False)
    assert ssi.SSI().ranker().name == "bilinear"
    with pytest.raises(ValueError, match=r"device='gpu': expected 'cpu' or 'cuda'"):
        ssi.SSI(device="gpu").ranker()
    with pytest.raises(ValueError, match=r"device='cuda': .* 'cpu' with auto=True"):
        ssi.SSI(device="cuda", auto=True).ranker()


def test_one_block_repeats_its_bits():
    assert BilinearCuda(blocks=1).repeats
    assert not BilinearCuda(blocks=1, validation_time=0.1).repeats


def test_models_of_the_processor_know_nothing_of_it():
    """No import, and no change of their digest."""
    assert not {"ssi_core.kernels.sweep_cuda", "ssi_core.training.device"} & set(
        code.reached(["ssi_core.models.bilinear", "ssi_core.models.auto"])
    )
    assert "ssi_core.kernels.sweep_cuda" in code.reached(["ssi_core.models.bilinear_cuda"])
    show = "import sys, ssi_core.models; print('numba.cuda' in sys.modules)"
    command = [sys.executable, "-c", show]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
