// Fuzzes extraction: nothing is written outside of its directory.
//
// The input is the archive, of any format. It is unpacked as the user nobody in a small world,
// beside a directory that the same user might write to.
#include "stager/files/archive/unpacker.h"

#include "tests/fuzz/files/small_world.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/files/archives.h"
#include "tests/unit/files/zips.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stage {
namespace {

constexpr UnpackLimits kLimits{.bytes_free = 4U << 20U, .inodes_free = 64, .bytes_max = 0};

void populate(SmallWorld& world) {
    world.directory("inside");
    world.directory("outside");
    world.file("outside/kept");
}

/// All that is not below /inside, and what its files are.
std::string outside() {
    std::string all;
    for (const std::string& name : SmallWorld::names()) {
        if (name.starts_with("/inside/")) {
            continue;
        }
        struct stat status {};
        invariant(::lstat(name.c_str(), &status) == 0, "what is there can be looked at");
        all += name + ' ' + std::to_string(status.st_mode) + ' ' +
               std::to_string(status.st_size) + ' ' + std::to_string(status.st_nlink) + '\n';
    }
    return all;
}

void check_inside() {
    std::size_t count = 0;
    for (const std::string& name : SmallWorld::names()) {
        struct stat status {};
        const bool is_inside = name.starts_with("/inside/");
        if (is_inside && ::lstat(name.c_str(), &status) == 0) {
            ++count;
            invariant((status.st_mode & 07000U) == 0, "nothing has set-id or sticky bits");
            invariant(
                S_ISREG(status.st_mode) || S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode),
                "there are files, directories and links only");
        }
    }
    invariant(count <= kLimits.inodes_free, "no more is made than there is room for");
}

bool unpack_here(Bytes archive) {
    UniqueFd file{::memfd_create("archive", MFD_CLOEXEC)};
    invariant(file && ::write(file.get(), archive.data(), archive.size()) ==
                          static_cast<ssize_t>(archive.size()),
              "an archive can be written");
    ArrivedBytes bytes{UniqueFd{::memfd_create("none", MFD_CLOEXEC)}, archive.size()};
    bytes.adopt(std::move(file));
    UnpackTree tree{
        UniqueFd{::open("/inside", O_RDONLY | O_DIRECTORY | O_CLOEXEC)}, "/inside", kLimits};
    const std::string before = outside();
    const Status unpacked = unpack(bytes, tree, "archive", {});
    static_cast<void>(::chmod("/inside", 0700));  // It may have become the archive's top.
    invariant(outside().substr(0, 8) == before.substr(0, 8), "the place is where it was");
    const auto rest = [](const std::string& all) { return all.substr(all.find("/outside")); };
    invariant(rest(outside()) == rest(before), "nothing outside has changed");
    check_inside();
    return unpacked.ok();
}

}  // namespace

bool fuzz_one(Bytes input) {
    if (!SmallWorld::is_possible()) {
        return true;
    }
    bool is_unpacked = false;
    SmallWorld::with(populate, [&] { is_unpacked = unpack_here(input); });
    return is_unpacked;
}

std::vector<FuzzSeed> fuzz_seeds() {
    test::Tar all;
    all.directory("d", 07777).file("d/f", "content", 04755).file("f", "x");
    all.symlink("d/l", "../f").hard_link("h", "f").file("f", "again");
    test::Tar through;
    through.symlink("l", "/outside").symlink("m", "../outside/kept").file("m", "over it");
    test::Tar top;
    top.directory("./", 0500).directory("a/b/c", 0).file("a/g", std::string(2000, 'x'));
    test::Zip zip;
    zip.file("d/", "", {.mode = 040755}).file("d/r\xc3\xa9", "content", {.flags = 0x800});
    zip.file("l", "d", {.mode = 0120777}).file("dos\\f", "x", {.made_by = 0});
    return {{"all_kinds", owned(all.bytes())},
            {"links", owned(through.bytes())},
            {"top", owned(top.bytes())},
            {"zip", owned(zip.bytes("comment"))},
            {"zip_behind", owned("#!/bin/sh\n" + zip.bytes())}};
}

}  // namespace stage
