// Fuzzes cleanup lists, which a user can forge: only permitted files are removed.
//
// The input is two lists of one user, a piece for the list of a stage that has ended, another
// for that of a stage at work, and then the name of a list. They are followed in a small world
// of their own (a root directory of one thread's, where that is allowed) and as nobody: each
// path that is reported lies below /inside then, from where a link leads to /outside.
#include "stager/removal/cleanup_entry.h"
#include "stager/removal/removal.h"
#include "stager/spawn/cleanup_lists.h"
#include "tests/fuzz/files/small_world.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>

namespace stage {
namespace {

using Texts = std::vector<std::string>;

void check_entry(const std::string& text) {
    const CleanupEntry entry = parse_cleanup_entry(text);
    const bool is_use = entry.kind == CleanupEntry::Kind::use;
    invariant(!is_use || text.starts_with('U'), "only what says so is a use");
    invariant((entry.kind == CleanupEntry::Kind::all_listed) == (text == kAllUsesListed),
              "only what says so tells all");
    invariant(text.ends_with(entry.path + (entry.is_directory ? "/" : "")),
              "a path stands at the end of its entry, whole");
    invariant(!entry.is_directory || !entry.path.empty(), "a directory has a name");
    invariant(entry.identity.find('/') == std::string::npos, "a path is no identity");
}

void check_name(std::string_view text) {
    const auto name = parse_cleanup_list_name(text);
    invariant(!name || to_text(*name) == text, "a list has one name");
    if (name) {
        const std::string job = std::to_string(name->job_id());
        invariant(name->is_of({job}), "a list is of its job");
        invariant(!name->is_of({job + '0'}), "a list is of no other job");
    }
}

/// With every path below /inside.
std::string put_inside(const std::string& text) {
    const std::size_t slash = text.find('/');
    return slash == std::string::npos ? text
                                      : text.substr(0, slash) + "/inside" + text.substr(slash);
}

UniqueFd list_of(const Texts& entries) {
    UniqueFd file{::memfd_create("list", MFD_CLOEXEC)};
    std::string text;
    for (const std::string& entry : entries) {
        text += entry + '\0';
    }
    invariant(file && ::write(file.get(), text.data(), text.size()) ==
                          static_cast<ssize_t>(text.size()),
              "a list can be made");
    return file;
}

std::vector<UniqueFd> only(UniqueFd file) {
    std::vector<UniqueFd> all;
    all.push_back(std::move(file));
    return all;
}

void populate(SmallWorld& world) {
    world.directory("inside");
    world.directory("inside/tree/deep");
    world.directory("inside/p_libs");
    world.directory("outside");
    for (const char* file : {"inside/a",
                             "inside/b",
                             "inside/tree/deep/c",
                             "inside/tree/d",
                             "inside/p_libs/l.so",
                             "outside/kept"}) {
        world.file(file);
    }
    world.link("inside/out", "../outside");
    world.link("inside/tree/out", "/outside/kept");
}

/// Uses whose paths are written as a worker writes them, of files that are there.
Texts used(const Texts& entries, const std::set<std::string>& there) {
    Texts paths;
    for (const std::string& text : entries) {
        const CleanupEntry entry = parse_cleanup_entry(text);
        if (entry.kind == CleanupEntry::Kind::use && there.contains(entry.path)) {
            paths.push_back(entry.path);
        }
    }
    return paths;
}

bool is_written_right(const std::string& text) {
    const std::string path = parse_cleanup_entry(text).path;
    return path.find("//") == std::string::npos && path.find("/./") == std::string::npos;
}

/// True if an entry was of something that is there.
bool follow(const Texts& own, const Texts& others) {
    const std::set<std::string> before = SmallWorld::names();
    const Removed none = follow_cleanup_lists(only(list_of(own)), only(list_of({"U/"})));
    invariant(none.count == 0 && SmallWorld::names() == before,
              "nothing goes while a stage may use anything");

    const Removed removed = follow_cleanup_lists(only(list_of(own)), only(list_of(others)));
    const std::set<std::string> after = SmallWorld::names();
    invariant(after.contains("/outside") && after.contains("/outside/kept"),
              "what lies outside stays");
    if (std::all_of(own.begin(), own.end(), is_written_right)) {
        for (const std::string& path : used(others, before)) {
            invariant(after.contains(path), "what another stage uses stays");
        }
    }
    return removed.count + removed.passed_on > 0;
}

Texts entries_of(Bytes piece) {
    Texts entries = split_cleanup_list(text_of(piece));
    std::ranges::for_each(entries, check_entry);
    std::ranges::transform(entries, entries.begin(), put_inside);
    return entries;
}

}  // namespace

bool fuzz_one(Bytes input) {
    ByteReader reader{input};
    const Texts own = entries_of(piece_of(reader));
    const Texts others = entries_of(piece_of(reader));
    check_name(text_of(reader.raw(reader.left())));
    if (own.empty() || !SmallWorld::is_possible()) {
        return !own.empty();
    }
    bool has_found = false;
    SmallWorld::with(populate, [&] { has_found = follow(own, others); });
    return has_found;
}

std::vector<FuzzSeed> fuzz_seeds() {
    const auto lists = [](const Texts& own, const Texts& others, std::string_view name) {
        ByteWriter out;
        for (const Texts& list : {own, others}) {
            std::string text;
            for (const std::string& entry : list) {
                text += entry + '\0';
            }
            put_piece(out, text);
        }
        return out.raw(as_bytes(name)).take();
    };
    return {{"files", lists({"/a", "/tree/d", "/none"}, {"U/b", "X"}, "1000.100.42.step.3")},
            {"tree", lists({"/tree/", "/b"}, {"U/a"}, "1000.100.42")},
            {"libraries", lists({"L:/p_libs/l.so", "/a"}, {"U/tree", "X"}, "0.0.7")},
            {"links", lists({"/out/kept", "/tree/out/", "/../outside/", "/a"}, {}, "01.0.7")},
            {"in_use",
             lists({"/tree/", "/a", "9.0:/b", "U/b"}, {"U/tree/d", "U/", "X"}, "1.1.1.step.")}};
}

}  // namespace stage
