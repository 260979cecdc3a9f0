"""Read documents from files: every format, and errors that name the file, the line and the argument."""

import csv
import gzip
import json
import re

import pytest
import scipy.io
import scipy.sparse

from plait.data import files
from plait.data.corpus import Corpus
from plait.data.documents import Documents
from plait.data.readers import read, read_texts
from plait.data.text import TextRecipe
from plait.errors import Argument, PlaitError, PlaitWarning


def fails(path, place, message):
    """Expect a one-line error that starts with the path and the place in it."""
    return pytest.raises(PlaitError, match=f"^{re.escape(str(path))}{place}: [^\n]*{message}[^\n]*$")


ENGLISH = TextRecipe(language="en")


def tokens(corpus):
    return [corpus.tokens(d) for d in range(corpus.n_documents)]


class TestLines:
    def test_each_line_is_a_document(self, write):
        corpus = read(write("a.txt", "war and peace\n\nÉté\u2028tax\r\nend"), recipe=ENGLISH)
        assert tokens(corpus) == [["war", "peace"], [], ["été", "tax"], ["end"]]
        assert corpus.names is None

    def test_gzip_is_decompressed_and_a_byte_order_mark_removed(self, write):
        assert read_texts(write("a.txt.gz", "\ufeffwar\npeace\n")) == Documents(("war", "peace"))

    def test_the_encoding_can_be_chosen(self, write):
        assert tokens(read(write("a.txt", "été".encode("latin-1")), encoding="latin-1")) == [["été"]]

    def test_corpus_read_is_the_same_function(self, write):
        corpus = Corpus.read(write("a.txt", "Harvests\n"), recipe=TextRecipe(stem="english"))
        assert corpus.vocabulary == ("harvest",)

    def test_words_outside_a_given_vocabulary_are_dropped_with_a_warning(self, write):
        path = write("a.txt", "war tax\npeace\n")
        with pytest.warns(PlaitWarning, match="2 of 3 tokens were dropped.*'war', 'tax'"):
            corpus = read(path, vocabulary=("peace", "trade"))
        assert corpus.vocabulary == ("peace", "trade")
        assert tokens(corpus) == [[], ["peace"]]

    def test_a_vocabulary_file_is_read_in_its_order(self, write):
        corpus = read(write("a.txt", "war peace"), vocabulary=str(write("v.txt", "peace\n war \ntax\n")))
        assert corpus.vocabulary == ("peace", "war", "tax")

    def test_bytes_that_are_not_in_the_encoding_are_located(self, write):
        path = write("a.txt", b"war\npeace\nt\xe4x\n")
        with fails(path, ":3", "byte 0xe4 at position 11 is not utf-8: .*pass its encoding"):
            read(path)

    def test_an_unknown_encoding_is_refused(self, write):
        with pytest.raises(
            PlaitError,
            match="encoding must be an encoding of text that Python knows, such as 'utf-8', got 'utf8000'",
        ):
            read(write("a.txt", "war"), encoding="utf8000")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "the file is empty: pass one with documents"),
            ("\n\n", "the texts have no words at all"),
            ("the\nof", "all 2 tokens are .* stop words"),
        ],
    )
    def test_a_file_without_words_is_refused(self, write, content, message):
        path = write("a.txt", content)
        with fails(path, "", message):
            read(path, recipe=ENGLISH)


class TestFiles:
    def test_a_missing_file_is_named(self, tmp_path):
        with fails(tmp_path / "no.txt", "", "there is no such file: check the path"):
            read(tmp_path / "no.txt")
        with fails(tmp_path / "no", "", "there is no such file: check the path"):
            read(tmp_path / "no")

    def test_a_folder_is_not_a_file(self, tmp_path):
        with fails(tmp_path, "", "this is a folder, not a file: .*format='folder'"):
            read(tmp_path, format="lines")

    @pytest.mark.parametrize(
        ("error", "message"),
        [
            (PermissionError(13, "Permission denied"), "permission to read it is denied: change"),
            (OSError(5, "Input/output error"), r"it cannot be read \(Input/output error\)"),
            (MemoryError(), "it is too large to read into memory: pass a part of it"),
        ],
    )
    def test_errors_of_the_system_are_reported(self, write, monkeypatch, error, message):
        def broken(path):
            raise error

        path = write("a.txt", "war")
        monkeypatch.setattr(files, "_open", broken)
        with fails(path, "", message):
            read(path)

    @pytest.mark.parametrize(
        "data",
        [b"war and peace", gzip.compress(b"war" * 100)[:-9], b"\x1f\x8b\x08\x00" + b"\xff" * 40],
        ids=["text", "cut short", "noise"],
    )
    def test_a_broken_gzip_file_is_refused(self, tmp_path, data):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(data)
        with fails(path, "", "the gzip file is broken .*: copy or download it again"):
            read(path)

    def test_an_unknown_format_is_refused(self, write):
        path = write("a.pdf", "war")
        with fails(
            path,
            "",
            "the format cannot be inferred from the name: .* csv, jsonl, xlsx, parquet, uci, ldac, mtx",
        ):
            read(path)
        with pytest.raises(PlaitError, match=r"format must be one of 'lines', 'folder', .*, got 'pdf'"):
            read(path, format="pdf")
        assert tokens(read(path, format="lines")) == [["war"]]

    def test_a_path_must_be_a_path(self):
        with pytest.raises(PlaitError, match="path must be the path of a file or folder, got 3"):
            read(3)

    @pytest.mark.parametrize(
        ("content", "place", "message"),
        [
            ("war\n\npeace", ":2", "the line is blank"),
            ("war\ntax\nwar", ":3", "the word 'war' is already on line 1"),
            ("", "", "the file is empty"),
        ],
    )
    def test_a_vocabulary_file_has_one_new_word_per_line(self, write, content, place, message):
        path = write("v.txt", content)
        with fails(path, place, message):
            read(write("a.txt", "war"), vocabulary=path)

    def test_formats_without_columns_refuse_their_names(self, write):
        for path in (write("a.txt", "war"), write("a.ldac", "1 0:1")):
            with fails(path, "", "date_column must be left out, as the format .* has no columns, got 'year'"):
                read(path, date_column="year")


class TestFolder:
    def test_text_files_are_sorted_by_path(self, write, tmp_path):
        write("b.txt", "war\n\npeace")
        write("a/z.txt.gz", "tax")
        write("a/skip.md", "trade")
        corpus = read(tmp_path)
        assert corpus.names == ("a/z.txt.gz", "b.txt")
        assert tokens(corpus) == [["tax"], ["war", "peace"]]

    def test_paragraphs_are_numbered(self, write, tmp_path):
        write("b.txt", "war\n\npeace")
        corpus = read(tmp_path, recipe=TextRecipe(split_paragraphs=True))
        assert corpus.names == ("b.txt #1", "b.txt #2")

    def test_folders_without_readable_text_are_refused(self, write, tmp_path):
        with fails(tmp_path, "", "the folder has no .txt files"):
            read(tmp_path)
        path = write("a.txt", b"\xff")
        with fails(path, "", "this is a file, not a folder"):
            read(path, format="folder")
        with fails(tmp_path / "no", "", "there is no such folder"):
            read(tmp_path / "no", format="folder")
        with fails(path, ":1", "byte 0xff"):
            read(tmp_path)


class TestCsv:
    def test_columns_have_their_roles(self, write):
        path = write("a.csv", 'id,text,date,party\nx,"war, and\n""peace""",1861,R\n\ny,tax,1862,D\n')
        documents = read_texts(path, columns="all")
        assert documents == Documents(
            ('war, and\n"peace"', "tax"), ("x", "y"), ("1861", "1862"), {"party": ("R", "D")}
        )
        corpus = read(path, recipe=ENGLISH, columns=["party"])
        assert tokens(corpus) == [["war", "peace"], ["tax"]]
        assert (corpus.names, corpus.dates, corpus.columns["party"]) == (
            ("x", "y"),
            ("1861", "1862"),
            ("R", "D"),
        )

    def test_tsv_has_tabs_and_columns_can_be_chosen(self, write):
        path = write("a.tsv.gz", "nr\ttext\tbody\tyear\n1\ta, b\twar\t1861\n")
        documents = read_texts(path, text_column="body", id_column="nr", date_column="year", columns="all")
        assert documents == Documents(("war",), ("1",), ("1861",), {"text": ("a, b",)})

    def test_a_column_can_serve_twice(self, write):
        documents = read_texts(
            write("a.csv", ",text\n1861,war\n"), id_column="", date_column="", columns="all"
        )
        assert documents == Documents(("war",), ("1861",), ("1861",), {})

    def test_long_cells_leave_the_limit_as_it_was(self, write):
        csv.field_size_limit(131_072)
        assert len(read_texts(write("a.csv", "text\n" + "war " * 100_000)).texts[0]) == 400_000
        assert csv.field_size_limit() == 131_072

    @pytest.mark.parametrize(
        ("content", "options", "place", "message"),
        [
            ("id,body\n1,war\n", {}, ":1", "no column 'text' among 'id', 'body': pass text_column"),
            ("text\nwar\n", {"id_column": "nr"}, ":1", "no column 'nr' among 'text': pass id_column"),
            ("text\nwar\n", {"date_column": "y"}, ":1", "no column 'y' among 'text': pass date_column"),
            ("text,a\nwar,1\ntax\n", {}, ":3", "the row has 1 cells for 2 columns"),
            ('text,a\n"w\n\nar",1\ntax,1,2\n', {}, ":5", "the row has 3 cells for 2 columns"),
            ('text\nwar\n"tax\n', {}, ":3", r"cannot be read \(unexpected end of data\): check its quotes"),
            ("text,a,text\n", {}, ":1", "has the column 'text' twice"),
            ("text\n", {}, "", "there are no documents"),
            ("", {}, "", "the file is empty: pass a table with a header"),
            ("\ntext\nwar\n", {}, "", "the file starts with a blank line: pass a table with a header"),
            ("text\n\nwar,1\n", {}, ":3", "the row has 2 cells for 1 columns"),
        ],
    )
    def test_errors_name_the_line(self, write, content, options, place, message):
        path = write("a.csv", content)
        with fails(path, place, message):
            read(path, **options)


class TestJsonl:
    def test_keys_have_their_roles(self, write):
        lines = [
            {"text": "war", "id": 7, "date": "1861", "tags": ["é"]},
            {"text": "tax", "id": "y", "extra": None},
        ]
        path = write("a.jsonl", "\n\n".join(map(json.dumps, lines)))
        assert read_texts(path, columns="all") == Documents(
            ("war", "tax"), ("7", "y"), ("1861", ""), {"tags": ('["é"]', ""), "extra": ("", "")}
        )
        assert read(path).names == ("7", "y")

    def test_surrogate_pairs_and_other_escapes_are_read(self, write):
        path = write("a.jsonl", '{"text": "\\ud83d\\ude00 \\u00e9", "x": ["\\ud83d\\ude00"]}')
        assert read_texts(path, columns="all") == Documents(
            ("\U0001f600 é",), columns={"x": ('["\U0001f600"]',)}
        )

    def test_keys_can_be_chosen(self, write):
        path = write("a.ndjson", '{"body": "war", "id": "x", "nr": 1}\n')
        documents = read_texts(path, text_column="body", id_column="nr", columns="all")
        assert documents == Documents(("war",), ("1",), None, {"id": ("x",)})

    @pytest.mark.parametrize(
        ("content", "options", "place", "message"),
        [
            (
                '{"text": "a"}\n{"text": \n',
                {},
                ":2",
                r"not JSON \(Expecting value at column \d+\): write one",
            ),
            ('{"text": "a"}\n["b"]\n', {}, ":2", r"the line is \['b'\], not an object"),
            ('{"text": "a"}\n\n{"body": "b"}', {}, ":3", "no key 'text' among 'body': pass text_column"),
            ('{"text": 3}', {}, ":1", "'text' is 3, not a string: quote it"),
            ('{"text": "a"}', {"date_column": "y"}, ":1", "no column 'y' among 'text': pass date_column"),
            ("[" * 100_000, {}, ":1", "nested too deeply"),
            ('{"text": "a", "x": ' + "[" * 100_000 + "}", {}, ":1", "nested too deeply"),
            ('{"text": "a"}\n{"text": "b", "x": NaN}', {}, ":2", "NaN is not in JSON: write null"),
            ('{"text": "a", "x": [-Infinity]}', {}, ":1", "-Infinity is not in JSON"),
            ('{"text": "a", "x": 1e400}', {}, ":1", "the number 1e400 is too large: quote it"),
            ('{"text": "a", "x": -' + "9" * 5000 + "}", {}, ":1", "a number has 5000 digits: quote it"),
            ('{"text": "a"}\n{"text": "\\ud800"}', {}, ":2", r"\\ud800 is half of a surrogate pair"),
            ('{"text": "a", "id": "\\udc00"}', {}, ":1", r"\\udc00 is half of a surrogate pair"),
            ('{"text": "a", "\\ud83d": 1}', {}, ":1", "half of a surrogate pair"),
            ('{"text": "a", "x": ["\\uDC00\\uD83D"]}', {}, ":1", "half of a surrogate pair"),
            ("\n", {}, "", "there are no documents"),
            ("", {}, "", "the file is empty"),
        ],
    )
    def test_errors_name_the_line(self, write, content, options, place, message):
        path = write("a.jsonl", content)
        with fails(path, place, message):
            read(path, **options)


UCI = "3\n4\n3\n1 2 2\n3 1 1\n3 4 1\n"
MTX = "%%MatrixMarket matrix coordinate integer general\n% why\n3 4 3\n1 2 2\n\n3 1 1\n3 4 1\n"
LDAC = "1 1:2\n0\n2 0:1 3:1\n"


class TestCounts:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("docword.x.txt", UCI),
            ("docword.x.txt.gz", UCI),
            ("a.mtx", MTX),
            ("b.mtx", MTX.replace("integer", "real").replace("1 2 2", "1 2 2.0")),
            ("a.ldac", LDAC),
            ("a.dat", LDAC),
            ("a.lda-c.gz", LDAC),
        ],
    )
    def test_formats_agree(self, write, name, content):
        path = write(name, content)
        corpus = read(path)
        assert corpus.words.tolist() == [1, 1, 0, 3]
        assert corpus.offsets.tolist() == [0, 2, 2, 4]
        assert corpus.vocabulary == ("0", "1", "2", "3")
        assert corpus.recipe is None
        vocabulary = write("words.txt", "w\nx\ny\nz\n")
        assert tokens(read(path, vocabulary=vocabulary)) == [["x", "x"], [], ["w", "z"]]
        assert read(path, vocabulary=("w", "x", "y", "z")).vocabulary == ("w", "x", "y", "z")

    @pytest.mark.parametrize("name", ["vocab.x.txt", "vocab.x.txt.gz"])
    def test_uci_finds_its_vocabulary(self, write, name):
        write(name, "w\nx\ny\nz\n")
        path = write("docword.x.txt.gz", UCI)
        assert tokens(read(path)) == [["x", "x"], [], ["w", "z"]]
        with pytest.warns(PlaitWarning, match="1 of 4 tokens were dropped.*'w'"):
            fitted = read(path, vocabulary=("z", "x"))
        assert fitted.vocabulary == ("z", "x")
        assert tokens(fitted) == [["x", "x"], [], ["z"]]

    def test_files_of_scipy_are_read(self, tmp_path):
        matrix = Corpus.from_tokens([["b", "a", "b"], ["c"]]).to_matrix()
        scipy.io.mmwrite(tmp_path / "a.mtx", matrix)
        assert (read(tmp_path / "a.mtx").to_matrix() != matrix).nnz == 0

    def test_the_format_can_be_given(self, write):
        write("vocab.x.txt", "w\nx\ny\nz\n")
        assert read(write("x.txt", UCI), format="uci").vocabulary == ("0", "1", "2", "3")

    def test_repeated_entries_add_up(self, write):
        assert read(write("docword.x.txt", "1\n1\n2\n1 1 2\n1 1 3\n")).n_tokens == 5

    def test_a_recipe_for_counts_warns(self, write):
        with pytest.warns(PlaitWarning, match="the recipe is for text and is not applied to counts"):
            read(write("a.ldac", LDAC), recipe=TextRecipe(min_count=2))

    def test_read_texts_refuses_counts(self, write):
        path = write("a.ldac", LDAC)
        with fails(path, "", "the format 'ldac' holds counts, not text: use read"):
            read_texts(path)

    @pytest.mark.parametrize("name", ["docword.x.txt", "a.mtx"])
    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("3 1 1", "3 5 1", "word 5 is not a number from 1 to 4"),
            ("3 1 1", "3 0 1", "word 0 is not a number from 1 to 4"),
            ("3 1 1", "4 1 1", "document 4 is not a number from 1 to 3"),
            ("3 1 1", "1.5 1 1", "document 1.5 is not a number from 1 to 3"),
            ("3 1 1", "nan 1 1", "document nan is not a number from 1 to 3"),
            ("3 1 1", "3 1 -1", "the count is -1: write a whole number from 0 up"),
            ("3 1 1", "3 1 0.5", "the count is 0.5"),
            ("3 1 1", "3 1 nan", "the count is nan"),
            ("3 1 1", "3 1 inf", "the count is inf"),
            ("3 1 1", "3 1", "'3 1' is not 'document word count': write three numbers"),
            ("3 1 1", "3 1 1 1", "'3 1 1 1' is not 'document word count'"),
            ("3 1 1", "3 1 one", "'3 1 one' is not 'document word count'"),
            ("3 1 1", "3 1 1_0", "'3 1 1_0' is not 'document word count'"),
        ],
    )
    def test_impossible_entries_are_located(self, write, name, old, new, message):
        content = UCI if "docword" in name else MTX
        line = content.split("\n").index(old) + 1
        path = write(name, content.replace(old, new))
        with fails(path, f":{line}", message):
            read(path)

    @pytest.mark.parametrize(
        ("name", "content", "place", "message"),
        [
            (
                "docword.x.txt",
                "3\n4\n5\n1 2 2\n3 1 1\n",
                ":5",
                "ends after 2 of the 5 entries .*: it is truncated",
            ),
            ("docword.x.txt", "3\n4\n1\n1 2 2\n3 1 1\n", ":5", "more entries than the 1 of the header"),
            ("docword.x.txt", "3\nfour\n1\n1 2 2\n", ":2", "the number of words should be here, not 'four'"),
            ("docword.x.txt", "3\n4\n", ":3", "the number of entries should be here, not ''"),
            ("docword.x.txt", "-3\n4\n1\n", ":1", "the number of documents should be here, not '-3'"),
            ("docword.x.txt", "", "", "the file is empty"),
            ("a.mtx", "3 4 3\n1 2 2\n", ":1", "the header is '3 4 3': write '%%MatrixMarket matrix"),
            ("a.mtx", MTX.replace("general", "symmetric"), ":1", "the header is .*symmetric"),
            ("a.mtx", MTX.replace("coordinate", "array"), ":1", "the header is .*array"),
            ("a.mtx", MTX.replace("3 4 3", "3 4"), ":3", "the sizes should be here, not '3 4'"),
            ("a.mtx", "\n".join(MTX.split("\n")[:2]), ":2", "the file ends before the sizes"),
            ("a.mtx", MTX.replace("3 4 3", "3 4 9"), ":7", "ends after 3 of the 9 entries"),
            ("a.mtx", "\n" + MTX, ":1", "the header is ''"),
            ("a.ldac", "1 1:2\n2 0:1\n", ":2", "the line says 2 pairs but has 1: correct the number"),
            ("a.ldac", "1 1:2\n\n", ":2", "the number of pairs is '': write '0' for an empty document"),
            ("a.ldac", "1 1:2\nx 0:1\n", ":2", "the number of pairs is 'x'"),
            ("a.ldac", "1 1:-2\n", ":1", "'1:-2' is not word:count with whole numbers"),
            ("a.ldac", "1 1:0.5\n", ":1", "'1:0.5' is not word:count"),
            ("a.ldac", "1 1:nan\n", ":1", "'1:nan' is not word:count"),
            ("a.ldac", "1 -1:2\n", ":1", "'-1:2' is not word:count"),
            ("a.ldac", "1 0:" + "9" * 5000, ":1", "is not word:count with whole numbers"),
            ("docword.x.txt", "3\n" + "9" * 5000, ":2", "the number of words should be here"),
        ],
    )
    def test_malformed_files_are_located(self, write, name, content, place, message):
        path = write(name, content)
        with fails(path, place, message):
            read(path)

    @pytest.mark.parametrize(
        ("name", "content", "shape"), [("docword.x.txt", "3\n4\n0\n", (3, 4)), ("a.ldac", "0\n0\n", (2, 0))]
    )
    def test_documents_may_all_be_empty(self, write, name, content, shape):
        corpus = read(write(name, content))
        assert (corpus.n_documents, corpus.n_words, corpus.n_tokens) == (*shape, 0)

    def test_a_vocabulary_of_another_length_is_refused(self, write):
        path = write("docword.x.txt", UCI)
        with fails(path, "", "vocabulary must have one entry for each of the 4 columns of the matrix, got 2"):
            read(path, vocabulary=("w", "x"))
        path = write("a.ldac", LDAC)
        with fails(path, ":3", "word 3 is not in the vocabulary of 2"):
            read(path, vocabulary=("w", "x"))


def option(argument):
    """Name an argument as a command would."""
    name = "--" + argument.name.replace("_", "-")
    return name if argument.value is None else f"{name} {argument.value}"


class TestArguments:
    @pytest.mark.parametrize(
        ("name", "content", "options", "argument", "message"),
        [
            (
                "a.csv",
                "id,body\n1,war\n",
                {},
                "text_column",
                ":1: .* among 'id', 'body': pass --text-column with",
            ),
            ("a.csv", "text\nwar\n", {"id_column": "nr"}, "id_column", ":1: .*pass --id-column with one"),
            (
                "a.csv",
                "text\nwar\n",
                {"date_column": "y"},
                "date_column",
                ":1: .*pass --date-column with one",
            ),
            (
                "a.jsonl",
                '{"body": "war"}',
                {},
                "text_column",
                ":1: there is no key 'text' .*pass --text-column",
            ),
            ("a.txt", b"t\xe4x\n", {}, "encoding", ":1: .* such as --encoding cp1252"),
            ("a.csv", b"text\nt\xe4x\n", {}, "encoding", ":2: .* such as --encoding cp1252"),
            ("a.txt", "war", {"encoding": "utf8000"}, "encoding", "^--encoding must be"),
            ("a.txt", "war", {"format": "pdf"}, "format", "^--format must be one of 'lines'"),
            ("a.pdf", "war", {}, "format", "a.pdf: .*or pass --format with one of lines"),
            (
                "a.txt",
                "war",
                {"id_column": "nr"},
                "id_column",
                "a.txt: --id-column must be left out, .* has no columns",
            ),
            (
                "a.txt",
                "war",
                {"recipe": TextRecipe(min_count=2)},
                "min_count",
                "a.txt: .* 1 tokens: --min-count 2 removes 1; relax",
            ),
            (
                "a.txt",
                "the of",
                {"recipe": ENGLISH},
                "stop_words",
                "a.txt: .*stop words .--stop-words en.; relax",
            ),
            (
                "docword.x.txt",
                UCI,
                {"vocabulary": ("w",)},
                "vocabulary",
                "docword.x.txt: --vocabulary must have",
            ),
        ],
    )
    def test_errors_carry_the_argument_that_they_name(self, write, name, content, options, argument, message):
        with pytest.raises(PlaitError) as caught:
            read(write(name, content), **options)
        assert caught.value.argument == argument
        assert re.search(message, caught.value.message(option))

    def test_a_folder_recommends_its_format(self, tmp_path):
        with pytest.raises(PlaitError) as caught:
            read(tmp_path, format="lines")
        assert Argument("format", "folder") in caught.value.parts
