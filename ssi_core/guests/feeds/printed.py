"""Tables of the paper: its data are closed, and its numbers stand beside ours for comparison.

Source: Y. Shin and J. Park, An SVM based approach to feature selection for topical relevance
judgement of feeds (2010), Tables 1 and 2: 3,050 feeds of "Bundles from Google", 435 topics. Recall
of FT is .390 in Table 1 and .396 in Table 2.
"""

from __future__ import annotations

from typing import Any

_TABLE_1 = """
FT 0 .977 .390 .557
FD 0 .948 .432 .594
FT+FD 0 .956 .556 .703
ET 40 .941 .425 .586
ET 80 .946 .418 .580
ET 120 .947 .426 .588
ET 160 .946 .429 .590
ET 200 .947 .436 .597
ED 40 .936 .513 .663
ED 80 .943 .517 .668
ED 120 .944 .522 .672
ED 160 .947 .523 .674
ED 200 .944 .521 .671
FT+FD+ET 40 .953 .599 .736
FT+FD+ET 80 .959 .586 .727
FT+FD+ET 120 .959 .576 .720
FT+FD+ET 160 .959 .564 .710
FT+FD+ET 200 .959 .557 .705
FT+FD+ED 40 .954 .612 .746
FT+FD+ED 80 .955 .609 .744
FT+FD+ED 120 .957 .610 .745
FT+FD+ED 160 .959 .604 .741
FT+FD+ED 200 .958 .598 .736
FT+FD+ET+ED 40 .957 .603 .740
FT+FD+ET+ED 80 .961 .589 .730
FT+FD+ET+ED 120 .959 .577 .720
FT+FD+ET+ED 160 .961 .566 .712
FT+FD+ET+ED 200 .958 .557 .704
"""
_TABLE_2 = """
FT .977 .396 .557
FD .948 .432 .594
FT+FD .956 .556 .703
ET .947 .436 .597
ED .947 .523 .674
ET+ED .952 .505 .660
FT+ET .961 .535 .687
FT+ED .959 .584 .726
FT+ET+ED .960 .558 .706
FD+ET .952 .543 .690
FD+ED .950 .599 .733
FD+ET+ED .956 .570 .711
FT+FD+ET .959 .599 .736
FT+FD+ED .959 .612 .746
FT+FD+ET+ED .961 .603 .740
"""
_NAMES = ("precision", "recall", "f")

PRINTED: dict[str, list[dict[str, Any]]] = {
    "table_1": [
        {
            "elements": elements,
            "entries": int(n),
            **dict(zip(_NAMES, map(float, rest), strict=True)),
        }
        for elements, n, *rest in map(str.split, _TABLE_1.split("\n")[1:-1])
    ],
    "table_2": [
        {"elements": elements, **dict(zip(_NAMES, map(float, rest), strict=True))}
        for elements, *rest in map(str.split, _TABLE_2.split("\n")[1:-1])
    ],
}
"""Tables 1 and 2; in Table 2 each number is the maximum over the entries, by itself."""
