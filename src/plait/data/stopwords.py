"""The English stop words.

The list does not change between releases, so that the same text always gives the same words.  It holds
function words only (pronouns, articles, conjunctions, prepositions, auxiliary verbs and their
contractions).  Forms in 's such as "it's" are not listed, since a word is also dropped if it is a stop word
without its final 's.  "let's" is listed, because "let" is not a stop word.
"""

from __future__ import annotations

_BY_KIND = """
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    this that these those what which who whom whose
    am is are was were be been being have has had having do does did doing done
    can could may might must ought shall should will would
    i'm you're we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd
    i'll you'll he'll she'll it'll we'll they'll let's
    isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't
    can't cannot couldn't mustn't shan't shouldn't won't wouldn't
    a an the and but or nor if because as until while although though than whether
    of at by for with about against between among into through during before after above below
    to from up upon down in out on off over under within without
    again further then once here there when where why how
    all any both each few more most other some such no not only own same so too very
"""

ENGLISH: tuple[str, ...] = tuple(_BY_KIND.split())
"""The words in lower case, with the plain apostrophe."""
