import pytest


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread():
    """Keep torch from spinning on threads that these small tensors do not need."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
