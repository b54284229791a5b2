from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_GARBAGE: _ClassVar[Reason]
    REASON_OVERSIZED: _ClassVar[Reason]
    REASON_INVALID_VALUE: _ClassVar[Reason]
    REASON_OLD_ROUND: _ClassVar[Reason]
    REASON_FUTURE_ROUND: _ClassVar[Reason]
    REASON_DUPLICATE: _ClassVar[Reason]
    REASON_NO_HELLO: _ClassVar[Reason]
    REASON_OTHER_CONFIGURATION: _ClassVar[Reason]
    REASON_STALE_STATE: _ClassVar[Reason]
    REASON_UNKNOWN_PEER: _ClassVar[Reason]
    REASON_BAD_SIGNATURE: _ClassVar[Reason]
    REASON_UNKNOWN_ORIGIN: _ClassVar[Reason]
    REASON_TOO_MANY_ORIGINS: _ClassVar[Reason]
    REASON_NO_PROOF: _ClassVar[Reason]
    REASON_ENDLESS_DIGEST: _ClassVar[Reason]
    REASON_OLD_RECORD: _ClassVar[Reason]
    REASON_LARGE_COUNT: _ClassVar[Reason]
REASON_UNSPECIFIED: Reason
REASON_GARBAGE: Reason
REASON_OVERSIZED: Reason
REASON_INVALID_VALUE: Reason
REASON_OLD_ROUND: Reason
REASON_FUTURE_ROUND: Reason
REASON_DUPLICATE: Reason
REASON_NO_HELLO: Reason
REASON_OTHER_CONFIGURATION: Reason
REASON_STALE_STATE: Reason
REASON_UNKNOWN_PEER: Reason
REASON_BAD_SIGNATURE: Reason
REASON_UNKNOWN_ORIGIN: Reason
REASON_TOO_MANY_ORIGINS: Reason
REASON_NO_PROOF: Reason
REASON_ENDLESS_DIGEST: Reason
REASON_OLD_RECORD: Reason
REASON_LARGE_COUNT: Reason

class Frame(_message.Message):
    __slots__ = ("sequence", "hello", "release", "size", "consensus", "records", "digest", "welcome", "refusal")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    CONSENSUS_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    hello: Hello
    release: ReleaseMessage
    size: SizeMessage
    consensus: ConsensusMessage
    records: RecordsMessage
    digest: DigestMessage
    welcome: Welcome
    refusal: Refusal
    def __init__(self, sequence: _Optional[int] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., release: _Optional[_Union[ReleaseMessage, _Mapping]] = ..., size: _Optional[_Union[SizeMessage, _Mapping]] = ..., consensus: _Optional[_Union[ConsensusMessage, _Mapping]] = ..., records: _Optional[_Union[RecordsMessage, _Mapping]] = ..., digest: _Optional[_Union[DigestMessage, _Mapping]] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("agreement", "facts", "standing", "check", "boot", "remembered", "yours")
    class FactsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    STANDING_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    BOOT_FIELD_NUMBER: _ClassVar[int]
    REMEMBERED_FIELD_NUMBER: _ClassVar[int]
    YOURS_FIELD_NUMBER: _ClassVar[int]
    agreement: bytes
    facts: _containers.ScalarMap[str, str]
    standing: Standing
    check: bool
    boot: int
    remembered: Standing
    yours: bytes
    def __init__(self, agreement: _Optional[bytes] = ..., facts: _Optional[_Mapping[str, str]] = ..., standing: _Optional[_Union[Standing, _Mapping]] = ..., check: _Optional[bool] = ..., boot: _Optional[int] = ..., remembered: _Optional[_Union[Standing, _Mapping]] = ..., yours: _Optional[bytes] = ...) -> None: ...

class Standing(_message.Message):
    __slots__ = ("epoch", "round")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    round: int
    def __init__(self, epoch: _Optional[int] = ..., round: _Optional[int] = ...) -> None: ...

class ReleaseMessage(_message.Message):
    __slots__ = ("round", "release")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    round: int
    release: Release
    def __init__(self, round: _Optional[int] = ..., release: _Optional[_Union[Release, _Mapping]] = ...) -> None: ...

class Release(_message.Message):
    __slots__ = ("count", "mean", "variance", "beta")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    VARIANCE_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    count: int
    mean: float
    variance: float
    beta: float
    def __init__(self, count: _Optional[int] = ..., mean: _Optional[float] = ..., variance: _Optional[float] = ..., beta: _Optional[float] = ...) -> None: ...

class SizeMessage(_message.Message):
    __slots__ = ("round", "size", "degree", "accepts")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    DEGREE_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    round: int
    size: int
    degree: int
    accepts: bool
    def __init__(self, round: _Optional[int] = ..., size: _Optional[int] = ..., degree: _Optional[int] = ..., accepts: _Optional[bool] = ...) -> None: ...

class ConsensusMessage(_message.Message):
    __slots__ = ("round", "value")
    ROUND_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    round: int
    value: float
    def __init__(self, round: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...

class RecordsMessage(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, entries: _Optional[_Iterable[bytes]] = ...) -> None: ...

class DigestMessage(_message.Message):
    __slots__ = ("after", "last", "heads", "answer")
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    HEADS_FIELD_NUMBER: _ClassVar[int]
    ANSWER_FIELD_NUMBER: _ClassVar[int]
    after: bytes
    last: bytes
    heads: _containers.RepeatedCompositeFieldContainer[Head]
    answer: bool
    def __init__(self, after: _Optional[bytes] = ..., last: _Optional[bytes] = ..., heads: _Optional[_Iterable[_Union[Head, _Mapping]]] = ..., answer: _Optional[bool] = ...) -> None: ...

class Head(_message.Message):
    __slots__ = ("origin", "incarnation", "sequence", "proof", "fingerprint")
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    origin: bytes
    incarnation: int
    sequence: int
    proof: bool
    fingerprint: bytes
    def __init__(self, origin: _Optional[bytes] = ..., incarnation: _Optional[int] = ..., sequence: _Optional[int] = ..., proof: _Optional[bool] = ..., fingerprint: _Optional[bytes] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("refusal",)
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    refusal: Refusal
    def __init__(self, refusal: _Optional[_Union[Refusal, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("standing", "received")
    STANDING_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    standing: Standing
    received: int
    def __init__(self, standing: _Optional[_Union[Standing, _Mapping]] = ..., received: _Optional[int] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("reason", "detail")
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    reason: Reason
    detail: str
    def __init__(self, reason: _Optional[_Union[Reason, str]] = ..., detail: _Optional[str] = ...) -> None: ...
