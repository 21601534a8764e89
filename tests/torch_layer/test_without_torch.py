"""What someone sees who did not install the extra."""

import subprocess
import sys

WITHOUT = """
import sys, warnings
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, NoTorch())
warnings.simplefilter("ignore")
"""


def run(code):
    command = [sys.executable, "-c", WITHOUT + code]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_amclust_works():
    done = run(
        "import numpy as np\nfrom amclust import ClAM\n"
        "X = np.random.default_rng(0).normal(size=(20, 2))\n"
        "ClAM(2, n_init=1, max_epochs=2).fit(X)"
    )
    assert done.returncode == 0, done.stderr


def test_amclust_torch_names_the_extra():
    done = run("import amclust.torch")
    assert done.returncode != 0
    assert 'pip install "amclust[torch]"' in done.stderr.splitlines()[-1]
