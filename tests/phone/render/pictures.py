"""Draw views and look at the result, for tests: as operations, and as pixels."""

from io import BytesIO

from PIL import Image

from clawperator.phone.core.phone import Phone
from clawperator.phone.render.drawing import Drawing, Stamp
from clawperator.phone.render.screenshot import paint
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column
from clawperator.ui.node import Bounds

_phones: list[Phone] = []


def new_phone(*apps: App) -> Phone:
    phone = Phone(apps=apps)
    _phones.append(phone)
    return phone


def close_phones() -> None:
    """Close all phones of this test: their files are removed."""
    while _phones:
        _phones.pop().close()


def opened(package: str) -> Phone:
    """A phone that shows an app."""
    phone = new_phone()
    phone.launch(package)
    phone.clock.sleep(1)
    return phone


def phone_with(*views: View, state: dict[str, object] | None = None) -> Phone:
    """A phone that shows an app of these views, one below the other."""
    app = App("com.example.drawn", "Drawn", state=state)

    @app.screen("home")
    def home(_: AppContext) -> View:
        return column(*views, weight=1)

    phone = new_phone(app)
    phone.launch(app.package)
    return phone


def drawing(phone: Phone) -> Drawing:
    return paint(phone.scene())


def picture(phone: Phone) -> Image.Image:
    """The screen as pixels."""
    with Image.open(BytesIO(phone.screenshot())) as opened:
        assert opened.mode == "RGBA"
        return opened.convert("RGB")


def crop(image: Image.Image, area: Bounds) -> Image.Image:
    return image.crop((area.left, area.top, area.right, area.bottom))


def texts(phone: Phone, area: Bounds | None = None) -> dict[str, Stamp]:
    """The lines of text in an area, by their characters."""
    return {str(op.key[1]): op for op in _stamps(phone, area) if op.key[0] == "text"}


def icons(phone: Phone, area: Bounds | None = None) -> list[str]:
    """The names of the icons in an area."""
    return [str(op.key[1]) for op in _stamps(phone, area) if op.key[0] == "icon"]


def _stamps(phone: Phone, area: Bounds | None) -> list[Stamp]:
    area = area or phone.windows.display.bounds
    stamps = [op for op in drawing(phone).operations if isinstance(op, Stamp)]
    return [op for op in stamps if area.intersection(Bounds(*op[:4])) == Bounds(*op[:4])]
