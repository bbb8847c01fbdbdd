#include "stager/cache/store.h"

#include "stager/cache/copier.h"
#include "tests/unit/files/scratch.h"
#include "tests/unit/root.h"
#include "transport/os/descriptors.h"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

using namespace stage;
using Catch::Matchers::Contains;
using test::Scratch;

namespace {

UniqueFd directory_of(const Scratch& scratch) {
    return UniqueFd{::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
}
UniqueFd reading(const std::string& path) {
    return UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}
SourceStamp stamp(unsigned number) {
    return {static_cast<std::byte>(number)};
}

/// An entry of user 7.
CacheKey put(CacheStore& store, const std::string& from, std::uint64_t size) {
    auto draft = store.begin();
    REQUIRE(draft);
    const UniqueFd source = reading(from);
    const auto content = copy_hashed(source.get(), draft->file.get(), size);
    REQUIRE(content);
    const CacheKey key{.uid = 7, .content = *content};
    REQUIRE(store.publish(*draft, key).ok());
    return key;
}

}  // namespace

TEST_CASE("an entry is found again after a restart, with the files that have it") {
    const Scratch scratch;
    const Scratch from;
    const std::string content = test::noise(3 * kBlockBytes + 5);
    const std::string source = from.write("a", content);
    CacheStore store{directory_of(scratch)};
    const CacheKey key = put(store, source, content.size());
    store.remember(7, stamp(1), key.content);
    CacheIndex index;
    CacheStore again{directory_of(scratch)};
    again.sweep(index);
    CHECK(index.bytes_of(key) == content.size());
    CHECK(index.taken() >= content.size() + 2 * kNameTakes);
    CHECK(index.has(key));
    CHECK(index.find(7, stamp(1)) == key.content);
    const UniqueFd file = again.open(key);
    REQUIRE(file);
    const std::string name = scratch.path("7/" + entry_name(key.content));
    CHECK(test::content_of(name) == content);
    CHECK((test::status_of(name).st_mode & 07777U) == 0400);
    CHECK((test::status_of(scratch.path("7")).st_mode & 07777U) == 0700);
    again.remove(key);
    CHECK(scratch.names().empty());
    CHECK_FALSE(again.open(key));
}

TEST_CASE("an entry is removed with its links, and no other link is examined") {
    const Scratch scratch;
    const Scratch from;
    CacheStore store{directory_of(scratch)};
    const CacheKey key = put(store, from.write("a", "abc"), 3);
    store.remember(7, stamp(1), key.content);
    store.remember(7, stamp(2), key.content);
    store.remember(7, stamp(3), key.content);
    store.forget(7, stamp(2));
    CHECK(scratch.names().size() == 3);
    const UniqueFd removed = store.remove(key, {stamp(1)});
    CHECK(scratch.names().size() == 1);
    // The process that closes it waits for the disk.
    struct stat status {};
    REQUIRE(::fstat(removed.get(), &status) == 0);
    CHECK(status.st_nlink == 0);
    CHECK(status.st_size == 3);
}

TEST_CASE("remains of a crash are swept, and foreign files stay") {
    const Scratch scratch;
    const Scratch from;
    CacheStore store{directory_of(scratch)};
    const CacheKey key = put(store, from.write("a", "abc"), 3);
    const auto draft = store.begin();
    REQUIRE(draft);
    scratch.write("7/" + entry_name(Content{}), "");  // Empty: no entry.
    store.remember(7, stamp(2), Content{});           // Of an entry that is not here.
    REQUIRE(::symlink("/etc/passwd", scratch.path("7/s." + std::string(64, 'a')).c_str()) == 0);
    CHECK_FALSE(CacheStore::foreign_name_in(directory_of(scratch)));
    const std::vector<std::string> others{
        "7/" + std::string(64, 'a'), "7/strange", "new.file", "results/data"};
    for (const std::string& name : others) {
        scratch.write(name, "x");
    }
    CacheIndex index;
    CacheStore again{directory_of(scratch)};
    again.sweep(index);
    std::vector<std::string> left = others;
    left.push_back("7/" + entry_name(key.content));
    std::ranges::sort(left);
    CHECK(scratch.names() == left);
    CHECK(index.entries().size() == 1);
}

TEST_CASE("a foreign name is found") {
    const Scratch scratch;
    const Scratch from;
    CacheStore store{directory_of(scratch)};
    const CacheKey key = put(store, from.write("a", "abc"), 3);
    store.remember(7, stamp(1), key.content);
    REQUIRE(::mkdir(scratch.path("lost+found").c_str(), 0700) == 0);
    REQUIRE(store.begin());
    CHECK_FALSE(CacheStore::foreign_name_in(directory_of(scratch)));
    const std::string other = GENERATE(values<std::string>(
        {"data", "new.", "new.x", "8", "007/" + std::string(64, 'a'), "7/data", "7/s.12"}));
    scratch.write(other, "x");
    const auto found = CacheStore::foreign_name_in(directory_of(scratch));
    REQUIRE(found);
    CHECK((*found == other || *found == "007"));
}

TEST_CASE("a job's directory is not mistaken for a user's directory of the cache", "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    REQUIRE(::mkdir(scratch.path("42").c_str(), 0700) == 0);
    CHECK_FALSE(CacheStore::foreign_name_in(directory_of(scratch)));
    REQUIRE(::chown(scratch.path("42").c_str(), 2001, 2001) == 0);
    CHECK(CacheStore::foreign_name_in(directory_of(scratch)) == "42");
}

TEST_CASE("only a regular file of the right length is copied") {
    const Scratch scratch;
    const std::string file = scratch.write("a", "abc");
    const UniqueFd from = reading(file);
    const std::string copy = scratch.write("copy", "");
    const UniqueFd to{::open(copy.c_str(), O_RDWR | O_CLOEXEC)};
    CHECK_FALSE(copy_hashed(from.get(), to.get(), 4));
    CHECK_FALSE(copy_hashed(from.get(), to.get(), 2));
    const UniqueFd zero = reading("/dev/zero");
    CHECK_FALSE(copy_hashed(zero.get(), to.get(), 0));
    REQUIRE(copy_hashed(from.get(), to.get(), 3));
    CHECK(test::content_of(copy) == "abc");
}

TEST_CASE("a copy asks before it writes, in steps that grow with the bytes read") {
    const Scratch scratch;
    constexpr std::uint64_t kSize = 4 * kBlockBytes + 1;
    const std::string file = scratch.write("a", std::string(kSize, 'x'));
    const std::string copy = scratch.write("copy", "");
    const UniqueFd from = reading(file);
    const UniqueFd to{::open(copy.c_str(), O_RDWR | O_CLOEXEC)};
    std::uint64_t asked = 0;
    const auto content = copy_hashed(from.get(), to.get(), kSize, [&](std::uint64_t end) {
        asked = end;
        return end <= 2 * kBlockBytes;
    });
    REQUIRE_FALSE(content);
    CHECK_THAT(content.error().sentence(), Contains("no room"));
    CHECK(asked == 3 * kBlockBytes);
    CHECK(test::content_of(copy).size() <= 2 * kBlockBytes);
    CHECK(next_allowance(10, 1000) == 20);
    CHECK(next_allowance(900, 1000) == 1000);
    CHECK(next_allowance(10 * kAllowanceMax, 100 * kAllowanceMax) == 11 * kAllowanceMax);
}

TEST_CASE("a file that is shorter than claimed is reported as such") {
    const Scratch scratch;
    const std::string tells = "/sys/kernel/mm/transparent_hugepage/enabled";  // A page.
    const UniqueFd from = reading(tells);
    if (!from) {
        WARN("skipped: needs " + tells);
        return;
    }
    const std::string copy = scratch.write("copy", "");
    const UniqueFd to{::open(copy.c_str(), O_RDWR | O_CLOEXEC)};
    errno = EACCES;
    const auto content =
        copy_hashed(from.get(), to.get(), static_cast<std::uint64_t>(::getpagesize()));
    REQUIRE_FALSE(content);
    CHECK(content.error().sentence() == "the file is now shorter than when it was staged");
}

TEST_CASE("a partial file is an entry by its source's stamp, and takes no room for holes") {
    const Scratch scratch;
    CacheStore store{directory_of(scratch)};
    auto draft = store.begin();
    REQUIRE(draft);
    const std::string text = test::noise(2 * kBlockBytes);
    const Bytes bytes = std::as_bytes(std::span{text});
    REQUIRE(::pwrite(draft->file.get(), bytes.data(), bytes.size(), 9 * kBlockBytes) ==
            static_cast<ssize_t>(bytes.size()));
    const CacheKey key = part_of(7, stamp(1));
    REQUIRE(store.publish(*draft, key).ok());
    CHECK(store.open(key));
    CHECK_FALSE(store.open(part_of(8, stamp(1))));
    CHECK_FALSE(store.open(part_of(7, stamp(2))));
    CHECK_FALSE(store.open({.uid = 7, .content = key.content}));
    const auto stored = store.list();
    REQUIRE(stored.size() == 1);
    CHECK(stored[0].key == key);
    CHECK(stored[0].size.bytes < 4 * kBlockBytes);
    CHECK_FALSE(CacheStore::foreign_name_in(directory_of(scratch)));
    CacheIndex index;
    store.sweep(index);
    CHECK(index.has(key));
    CHECK(index.taken() >= 2 * kBlockBytes);
    CHECK(index.taken() < 4 * kBlockBytes);
    store.remove(key);
    CHECK(scratch.names().empty());
    // Remains of a crash are swept; a file of any other name is foreign.
    scratch.write("7/p." + std::string(64, 'a'), "");
    store.sweep(index);
    CHECK(scratch.names().empty());
    scratch.write("7/p.a", "x");
    CHECK(CacheStore::foreign_name_in(directory_of(scratch)) == "7/p.a");
}

TEST_CASE("a copy leaves no pages of its own in memory") {
    const Scratch scratch;
    constexpr std::size_t kSize = 3 * kBlockBytes;
    const std::string file = scratch.write("a", test::noise(kSize));
    const std::string copy = scratch.write("copy", "");
    const UniqueFd from = reading(file);
    const UniqueFd to{::open(copy.c_str(), O_RDWR | O_CLOEXEC)};
    if (test::is_on_tmpfs(to.get())) {
        WARN("the scratch directory is in memory: nothing can leave it");
        return;
    }
    REQUIRE(copy_hashed(from.get(), to.get(), kSize));
    CHECK(test::resident(to.get(), 0, kSize) == 0);
}

TEST_CASE("the copier becomes a user without rights, copies, and reports the content",
          "[root]") {
    if (!is_root()) {
        return;
    }
    const Scratch scratch;
    const std::string file = scratch.write("a", "abc");
    const std::string copy = scratch.write("copy", "");
    const UniqueFd from = reading(file);
    const UniqueFd to{::open(copy.c_str(), O_RDWR | O_CLOEXEC)};
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    const UniqueFd ours{ends[0]};
    const pid_t child = ::fork();
    if (child == 0) {
        const int status = run_cache_copier(ends[1], 65534, 65534);
        ::_exit(::getuid() == 65534 && ::setuid(0) != 0 ? status : 99);
    }
    ::close(ends[1]);
    const std::array fds{from.get(), to.get()};
    REQUIRE(send_with_descriptors(ours.get(), encode_copy_order({.size = 3}), fds).ok());
    const auto question = receive_with_descriptors(ours.get(), 4096, 1);
    REQUIRE(question);
    CHECK(decode_room_question(question->message) == 3);
    REQUIRE(send_with_descriptors(ours.get(), encode_room_answer(), {}).ok());
    const auto answer = receive_with_descriptors(ours.get(), 4096, 1);
    REQUIRE(answer);
    CHECK_FALSE(decode_room_question(answer->message));
    const auto content = decode_copy_answer(answer->message);
    REQUIRE(content);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(test::content_of(copy) == "abc");
    const std::string text = "abc";
    CHECK(content->sum == sum_of({xxh3_128(std::as_bytes(std::span{text}))}));
}
