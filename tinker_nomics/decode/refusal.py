"""Why a decode step or a price could not be computed."""

from tinker_nomics.errors import TinkerNomicsError


class DecodeRefusal(TinkerNomicsError):  # noqa: N818 - the public name of a result, not only of an error
    """A step or a price that is not computed, with every reason for it.

    Args:
        subject: what was asked for, such as "the decode step of 'bert'".
        reasons: one sentence per reason, each naming the tensor, the metadata key or the undeclared term.
        code: of a price that is refused: its reasons as the sum of 2^bit, as a grid gives them (`reasons.REASONS`).
    """

    def __init__(self, subject: str, reasons: tuple[str, ...] | list[str], code: int = 0):
        self.subject = subject
        self.reasons = tuple(reasons)
        self.code = code
        one = len(self.reasons) == 1
        listed = f" {self.reasons[0]}" if one else "".join(f"\n  - {reason}" for reason in self.reasons)
        super().__init__(f"{subject} is refused:{listed}")
