// Tests the names, modes and position of a zip.
#include "tests/unit/files/unpacking.h"
#include "tests/unit/files/zips.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

namespace stage {
namespace {

using Catch::Matchers::Contains;
using test::content_of;
using test::Scratch;
using test::status_of;
using test::unpacking;
using test::Zip;
using Names = std::vector<std::string>;

constexpr unsigned kUtf8 = 0x800;

std::string unicode_path(const std::string& of, const std::string& name) {
    const auto crc =
        ::crc32(0, reinterpret_cast<const Bytef*>(of.data()), static_cast<uInt>(of.size()));
    const std::string field = '\x01' + Zip::number(crc, 4) + name;
    return Zip::number(0x7075, 2) + Zip::number(field.size(), 2) + field;
}

}  // namespace

TEST_CASE("names of a zip are bytes, marked as UTF-8 or not") {
    const Scratch to;
    const std::string composed = "r\xc3\xa9sum\xc3\xa9";
    const std::string apart = "re\xcc\x81sume\xcc\x81";  // As macOS has it.
    Zip zip;
    zip.file("d/" + composed, "1", {.flags = kUtf8})
        .file("d/" + apart, "2", {.flags = kUtf8})
        .file("d/not \xff utf", "3", {.flags = kUtf8})
        .file("raw \x82", "4")
        .file("old", "5", {.extra = unicode_path("old", "n\xc3\xa9w")})
        .file("other", "6", {.extra = unicode_path("older", "of another")})
        .file("e\xc3\xa9/", "", {.flags = kUtf8})
        .file("link", composed, {.flags = kUtf8, .mode = 0120777})
        .file("back\\slash", "7")
        .file("dos\\file", "8", {.made_by = 0, .mode = 0})
        .file("local", "9", {.name_in_directory = "listed"});
    REQUIRE(unpacking(zip.bytes(), to) == "ok");
    CHECK(content_of(to.path("t/d/" + composed)) == "1");
    CHECK(content_of(to.path("t/d/" + apart)) == "2");
    CHECK(content_of(to.path("t/d/not \xff utf")) == "3");
    CHECK(content_of(to.path("t/raw \x82")) == "4");
    CHECK(content_of(to.path("t/n\xc3\xa9w")) == "5");
    CHECK(content_of(to.path("t/other")) == "6");
    CHECK(S_ISDIR(status_of(to.path("t/e\xc3\xa9")).st_mode));
    CHECK((status_of(to.path("t/e\xc3\xa9")).st_mode & 0777U) == 0755);
    CHECK(S_ISLNK(status_of(to.path("t/link")).st_mode));
    CHECK(content_of(to.path("t/back\\slash")) == "7");
    CHECK(content_of(to.path("t/dos/file")) == "8");
    CHECK(content_of(to.path("t/listed")) == "9");
}

TEST_CASE("modes beside DOS attributes are used if they agree, as in unzip") {
    const Scratch to;
    Zip zip;
    zip.file("own", "x", {.made_by = 0, .mode = 0100600})
        .file("group", "x", {.made_by = 0, .attributes = 0x20, .mode = 0100640})
        .file("read", "x", {.made_by = 0, .attributes = 1, .mode = 0100444})
        .file("other", "x", {.made_by = 0, .mode = 0100755})
        .file("none", "x", {.made_by = 0, .attributes = 0x21, .mode = 0})
        .file("d/", "", {.made_by = 0, .attributes = 0x10, .mode = 040700});
    REQUIRE(unpacking(zip.bytes(), to) == "ok");
    const auto mode = [&](const char* name) {
        return status_of(to.path(std::string{"t/"} + name)).st_mode & 07777U;
    };
    CHECK(mode("own") == 0600);
    CHECK(mode("group") == 0640);
    CHECK(mode("read") == 0444);
    CHECK(mode("other") == 0644);
    CHECK(mode("none") == 0444);
    CHECK(mode("d") == 0700);
}

TEST_CASE("what no Unix made has modes by its DOS attributes, and usable directories") {
    const Scratch to;
    Zip zip;
    // Info-ZIP on Windows NT, 7-Zip's and PKZIP's numbers of the systems.
    for (const unsigned system : {0U, 6U, 7U, 10U, 11U, 14U, 19U}) {
        const std::string of = std::to_string(system);
        zip.file("file" + of, "x", {.made_by = system, .attributes = 0x20, .mode = 0})
            .file("read" + of, "x", {.made_by = system, .attributes = 0x21, .mode = 0})
            .file("d" + of + "/", "", {.made_by = system, .attributes = 0x10, .mode = 0})
            .file("named" + of + "/", "", {.made_by = system, .mode = 0600})
            .file("named" + of + "/f", "x", {.made_by = system, .mode = 0600});
    }
    REQUIRE(unpacking(zip.bytes(), to) == "ok");
    for (const unsigned system : {0U, 6U, 7U, 10U, 11U, 14U, 19U}) {
        const auto mode = [&](const std::string& name, const std::string& below = "") {
            const std::string path = "t/" + name + std::to_string(system) + below;
            return status_of(to.path(path)).st_mode & 07777U;
        };
        CAPTURE(system);
        CHECK(mode("file") == 0644);
        CHECK(mode("read") == 0444);
        CHECK(mode("d") == 0755);
        CHECK(mode("named") == 0755);
        CHECK(mode("named", "/f") == (system == 0 ? 0600 : 0644));
    }
}

TEST_CASE("a zip is found behind a program, before a comment, and empty") {
    const std::string zip = Zip{}.file("f", "content").bytes();
    for (const std::string& bytes : {zip,
                                     "#!/usr/bin/env python3\n" + zip,
                                     "PK00" + zip,
                                     "MZ" + std::string(300'000, 'x') + zip,
                                     Zip{}.file("f", "content").bytes(std::string(60'000, 'c')),
                                     zip + "a text behind it"}) {
        const Scratch to;
        CHECK(unpacking(bytes, to, 0, "x.zip") == "ok");
        CHECK(to.names() == Names{"t/f"});
        CHECK(content_of(to.path("t/f")) == "content");
    }
    const Scratch to;
    CHECK(unpacking(Zip{}.bytes(), to, 0, "x.zip") == "ok");
    CHECK(S_ISDIR(status_of(to.path("t")).st_mode));
    CHECK(unpacking(Zip{}.bytes("with a comment"), to, 0, "x.zip") == "ok");
}

TEST_CASE("a refused zip says why, and only damaged ones are called so") {
    const Scratch to;
    const auto said = [&](const std::string& bytes) {
        return unpacking(bytes, to, 0, "x.zip");
    };
    CHECK_THAT(said(Zip{}.file("f", "0123456789abcdef", {.flags = 1}).bytes()),
               Contains("x.zip: can't be unpacked here at or behind 'f' (Passphrase") &&
                   !Contains("damaged"));
    const std::string zip = Zip{}.file("f", "content").file("g", "more").bytes();
    CHECK_THAT(said(zip.substr(0, zip.size() - 1)),
               Contains("x.zip: is damaged or cut off (the directory at the zip's end is"));
    std::string bent = zip;
    bent[bent.find("content")] ^= 1;
    CHECK_THAT(said(bent), Contains("x.zip: is damaged or cut off at or behind 'f'"));
    std::string sum = zip;  // In the directory only.
    sum[sum.find("PK\x01\x02") + 16] ^= 1;
    CHECK_THAT(said(sum), Contains("x.zip: is damaged or cut off") && Contains("CRC32"));
    std::string part = zip;
    part[part.size() - 18] = 1;
    CHECK_THAT(said(part), Contains("can't be unpacked here (it is the last part of a zip"));
    std::string count = zip;
    count[count.size() - 12] = 3;
    CHECK_THAT(said(count), Contains("the directory of the zip lacks entries"));
    CHECK(to.names().empty());
}

TEST_CASE("a zip with one wrong byte is refused or unchanged") {
    Zip made;
    made.file("a", "first").file("b/c", "second", {.flags = kUtf8});
    const std::string zip = made.bytes("comment");
    for (std::size_t at = 0; at < zip.size(); ++at) {
        std::string bent = zip;
        bent[at] = static_cast<char>(bent[at] ^ 0x40);
        const Scratch to;
        if (unpacking(bent, to, 0, "x.zip") != "ok") {
            CHECK(to.names().empty());
            continue;
        }
        CAPTURE(at);
        std::string all;
        for (const std::string& name : to.names()) {
            all += content_of(to.path(name)) + ' ';
        }
        CHECK(all.size() == std::string{"first second "}.size());
    }
}

}  // namespace stage
