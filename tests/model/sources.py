"""Makes the sources of users' requests. Draws sources of every kind, as shell lines that make them."""

from case import Source
from words import word, words

MIB = 1 << 20
SIZES = [0, 1, 100, 4095, 4096, 4097, 65536, MIB - 1, MIB, MIB + 1, 2 * MIB, 3 * MIB + 17]
SMALL = [0, 1, 10, 4096, 5000, 70000]
TIMES = ["1960-01-02 03:04:05", "1970-01-01", "2000-02-29 12:34:56.789", "2020-05-05 05:05:05.000000001",
         "2024-12-31 23:59:59.999999999", "2096-01-01"]
FILE_MODES = ["644", "644", "600", "755", "640", "444", "400", "666", "4755", "2755", "1644"]
DIRECTORY_MODES = ["755", "755", "700", "750", "777", "1777", "2755", "500", "555"]
ODD = ["with blank", "-dash", "col:on", "back\\slash", "h\u00e9llo", 'quo"te', "ap'os", "do$HOME", "st*r", "#hash", "semi;colon",
       "com,ma", "pl+us", "\udcff\udcfe", "tab\tx", "~tilde", "[br]", "x.tar", "..dots", "@at", "eq=ual", ".hidden", "am&p",
       "n" * 255, "pipe|x", "trail ", " lead", "end\\", "{a,b}", "two\\\\more"]
TARS = [(".tar", ""), (".tar.gz", "-z"), (".tgz", "-z"), (".tar.zst", "--zstd"), (".tzst", "--zstd"), (".tar.xz", "-J"),
        (".tar.bz2", "-j"), (".tar.lz4", "-I lz4")]
TAR_WAYS = ["--format=gnu", "--format=pax", "--format=pax --xattrs", "--format=gnu -S", "--format=pax -S",
            "--format=gnu --hard-dereference", "--sort=name", "-b 1", "-b 128", "--format=pax --numeric-owner"]
ZIP_WAYS = ["-y", "-y -0", "-y -9", "-y -X"]

# What the lines call. bytes COUNT SEED: the same bytes each time, which nothing compresses.
PRELUDE = r"""
bytes() { openssl enc -aes-128-ctr -K "$(printf %032x "$2")" -iv 0 -in /dev/zero 2> /dev/null | head -c "$1"; }
text() { yes "line $2 of a text" | head -c "$1"; }
note() { python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.note", sys.argv[2].encode())' "$@"; }
""".strip()


def name_of(r, odd):
    return r.choice(ODD) if odd and r.random() < .4 else f"f{r.randrange(1000)}"


def safe(path):
    return word("./" + path if path.startswith("-") else path)


def file_lines(r, path, size, attributes):
    to = safe(path)
    kind = r.random()
    if kind < .2:
        make = f"truncate -s {size} {to}"
    elif kind < .5:
        make = f"text {size} {r.randrange(1000)} > {to}"
    elif kind < .65 and size > 65536:
        make = (f"truncate -s {size + r.choice([0, 2 * MIB])} {to}; bytes 5000 {r.randrange(1000)} | "
                f"dd of={to} conv=notrunc bs=4096 seek={r.randrange(size // 4096)} status=none")
    else:
        make = f"bytes {size} {r.randrange(1000)} > {to}"
    if r.random() < .2:
        make += f"; chgrp project {to}"
    if attributes and r.random() < .3:
        make += f"; note {to} {r.randrange(10 ** 6)}"
    return [f"{make}; chmod {r.choice(FILE_MODES)} {to}; touch -d {word(r.choice(TIMES))} {to}"]


def tree_lines(r, top, odd, attributes, links):
    lines, late = [f"mkdir {safe(top)}"], []
    directories, files, taken = [top], [], set()
    for _ in range(r.choice([0, 1, 3, 6, 10, 20])):
        path = r.choice(directories) + "/" + name_of(r, odd)
        if path in taken or len(path) > 1500:
            continue
        taken.add(path)
        kind = r.random()
        if kind < .2:
            directories.append(path)
            lines.append(f"mkdir {safe(path)}")
        elif kind < .3 and links:
            to = r.choice(["f1", "../x", "/etc/passwd", ".", "nowhere/" + "z" * 60])
            lines.append(f"ln -s {words(to)} {safe(path)}; touch -h -d {word(r.choice(TIMES))} {safe(path)}")
        elif kind < .42 and files and links:
            lines.append(f"ln {safe(r.choice(files))} {safe(path)}")
        else:
            files.append(path)
            lines += file_lines(r, path, r.choice(SMALL) if r.random() < .9 else r.choice(SIZES), attributes)
    if r.random() < .1:
        deep = r.choice(directories) + "/deep" * 40
        lines.append(f"mkdir -p {safe(deep)}; echo deep > {safe(deep + '/f')}")
    if r.random() < .04:
        lines.append(f"for i in {{1..400}}; do echo $i > {safe(top)}/g$i; done")
    for path in reversed(directories):
        late.append(f"chmod {r.choice(DIRECTORY_MODES)} {safe(path)}; touch -d {word(r.choice(TIMES))} {safe(path)}")
    return lines + late


def spoiled(r, name, zipped):
    """(kind, lines) of an archive that is to be refused, or whose checksum is wrong."""
    to = safe(name)
    ways = [("refused", f"truncate -s $(($(stat -c %s {to}) / 2)) {to}"), ("refused", f"yes 'this is no archive' | head -c 900 > {to}")]
    if not zipped:
        packing = dict(TARS)[next(ending for ending, _ in sorted(TARS, key=lambda t: -len(t[0])) if name.endswith(ending))]
        again = f"tar {packing} --force-local -P -cf"
        ways += [("refused", f"echo out > out; {again} {to} --transform 's,^,../,' out"), ("refused", f"echo out > out; {again} {to} $PWD/out"),
                 ("refused", f"mkfifo pipe; {again} {to} pipe"), ("refused", f"ln -s /tmp link; echo in > in2; {again} {to} "
                                                                    "--transform 's,^in2,link/in2,' link in2")]
    if zipped or not name.endswith(".tar"):
        ways.append(("flipped", f"printf xyzw | dd of={to} bs=1 conv=notrunc status=none seek=$(($(stat -c %s {to}) / 2))"))
    return r.choice(ways)


def archive(r, name):
    """A tar or a zip, of which some are spoiled."""
    zipped = r.random() < .25
    top = r.choice(["data", "data", "."])
    made = tree_lines(r, "data", not zipped and r.random() < .4, not zipped and r.random() < .3, r.random() < .7)
    lines = ["mkdir in; cd in"] + made
    if zipped:
        name = name[:200] + ".zip"
        way = r.choice(ZIP_WAYS)
        lines.append(f"zip -q -r {way} ../out.zip {top}; cd ..; mv out.zip {safe(name)}")
    else:
        ending, packing = r.choice(TARS)
        name = name[:200] + ending
        way = r.choice(TAR_WAYS)
        lines.append(f"tar {packing} {way} -cf ../out.tar {top}; cd ..; mv out.tar {safe(name)}")
    lines.append(f"chmod {r.choice(['644', '600', '755'])} {safe(name)}; touch -d {word(r.choice(TIMES))} {safe(name)}")
    kind = "zip" if zipped else "tar"
    if r.random() < .1:
        kind, line = spoiled(r, name, zipped)
        lines.append(line)
    return Source(kind, name, lines, way)


def draw_source(r, plain_names, large=False):
    kind = r.choices(["file", "tree", "archive", "program", "link", "missing", "unreadable", "pipe", "bad-tree"],
                     [40, 25, 20, 7, 4, 2, 1, 1, 1])[0]
    name = r.choice(ODD) if r.random() < .35 and not plain_names else f"src{r.randrange(100)}"
    attributes, links = r.random() < .4, r.random() < .7
    if kind == "archive":
        return archive(r, name)
    if kind == "tree":
        return Source(kind, name, tree_lines(r, name, r.random() < .6, attributes, links))
    if kind == "file":
        return Source(kind, name, file_lines(r, name, 20 * MIB if large else r.choice(SIZES), attributes))
    if kind == "link":
        return Source(kind, name, file_lines(r, "target", r.choice(SIZES), attributes) + [f"ln -s target {safe(name)}"])
    if kind == "bad-tree":
        bad = r.choice(["mkfifo {0}/pipe", "echo secret > {0}/secret; chmod 0 {0}/secret"]).format(safe(name))
        return Source(kind, name, [f"mkdir {safe(name)}", bad])
    if kind == "unreadable":
        return Source(kind, name, [f"echo secret > {safe(name)}; chmod 0 {safe(name)}"])
    if kind == "pipe":
        return Source(kind, name, [f"mkfifo {safe(name)}"])
    if kind == "program":
        answer = r.choice([7, 8])
        return Source(kind, "program", [
            f"mkdir lib; echo 'int answer(void) {{ return {answer}; }}' > answer.c",
            "echo 'int answer(void); int main(void) { return answer(); }' > main.c",
            "gcc -shared -fPIC -o lib/libanswer.so answer.c",
            "gcc -o program main.c -Llib -lanswer -Wl,-rpath,'$ORIGIN/lib'"], answer=answer)
    return Source("missing", name)
