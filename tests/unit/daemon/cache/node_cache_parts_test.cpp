// Tests which parts of an interrupted stage the cache keeps, and for which user.
#include "stager/cache/part_copy.h"
#include "stager/daemon/run/cache_link.h"
#include "stager/messages/untrusted_fd.h"
#include "tests/unit/daemon/cache_world.h"
#include "tests/unit/root.h"

#include <catch2/catch.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <filesystem>

using namespace stage;

namespace {

constexpr std::uint64_t kSize = 4 * std::uint64_t{kBlockBytes};

/// The first blocks of the file with that stamp, filled with `fill`, with a note.
std::string part(unsigned number, std::size_t blocks, char fill = 'a') {
    const std::string block(kBlockBytes, fill);
    std::vector<Digest128> leaves(part_block_count(kSize));
    std::fill_n(leaves.begin(), blocks, xxh3_128(std::as_bytes(std::span{block})));
    std::string file;
    for (std::size_t i = 0; i < blocks; ++i) {
        file += block;
    }
    file.resize(kSize);
    const auto note = encode_note(stamp(number), kSize, leaves);
    return file.append(reinterpret_cast<const char*>(note.data()), note.size());
}

struct Parts : CacheWorld {
    explicit Parts(std::uint64_t size = 20U << 20U) : CacheWorld{size} {}

    /// A worker of `uid` begins to write a file.
    NodeCache::Member begin(std::uint32_t uid, unsigned number, const std::string& text) {
        const auto member = cache().enter();
        cache().begun(member,
                      uid,
                      {.stamp = stamp(number), .bytes = kSize},
                      UntrustedFd{text_file(text)});
        return member;
    }
    /// Begins a part whose worker is then killed.
    void break_off(std::uint32_t uid, unsigned number, const std::string& text) {
        const std::uint64_t before = counters.cache_parts;
        const auto member = begin(uid, number, text);
        cache().broken_off(member);
        run_until([&] { return counters.cache_parts > before; });
        cache().leave(member);
    }
    /// How many blocks a stage of `uid` is given; nothing if it is given no part.
    std::optional<std::size_t> sought(std::uint32_t uid, unsigned number) {
        std::optional<std::size_t> blocks;
        const auto member = cache().enter();
        cache().seek(member, uid, stamp(number), [&](const WorkerCacheReply& reply, int file) {
            CHECK(std::ranges::equal(reply.about, stamp(number)));
            CHECK(reply.content.empty());
            if (file < 0) {
                return;
            }
            CHECK((::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY);
            const auto note = read_note(file, stamp(number), kSize);
            REQUIRE(note);
            blocks = static_cast<std::size_t>(std::ranges::count_if(
                *note, [](const Digest128& leaf) { return leaf != Digest128{}; }));
        });
        cache().leave(member);
        return blocks;
    }
    [[nodiscard]] std::size_t files() const {
        std::size_t count = 0;
        for (const auto& one : std::filesystem::recursive_directory_iterator{path()}) {
            count += one.is_regular_file() && !one.is_symlink() ? 1U : 0U;
        }
        return count;
    }
};

}  // namespace

TEST_CASE("a received part is there for the same user's next stage, even after a restart",
          "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    world.break_off(kAlice, 1, part(1, 3));
    CHECK(world.sought(kAlice, 1) == 3);
    CHECK_FALSE(world.sought(kBob, 1));
    CHECK_FALSE(world.sought(kAlice, 2));
    // It is no content, whatever is asked for.
    CHECK(world.cached_text(world.cache().enter(), kAlice, stamp(1)).empty());
    CHECK_FALSE(world.cache().serve({.uid = kAlice, .stamp = stamp(1)}));
    const std::uint64_t taken = world.cache().index().taken();
    CHECK(taken >= 3 * kBlockBytes);
    CHECK(taken < 4 * kBlockBytes);
    world.restart();
    CHECK(world.cache().index().taken() == taken);
    CHECK(world.sought(kAlice, 1) == 3);
    CHECK_FALSE(world.sought(kBob, 1));
}

TEST_CASE("a worker that leaves, or is followed by another, has broken off, too", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    const auto member = world.begin(kAlice, 1, part(1, 2));
    if (GENERATE(true, false)) {
        world.cache().leave(member);
    } else {
        world.cache().begin_anew(member);
    }
    world.run_until([&] { return world.counters.cache_parts == 1; });
    CHECK(world.sought(kAlice, 1) == 2);
}

TEST_CASE("a worker's messages about files concern the stage's user only", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    int given = 0;
    const auto send = [&](const ToWorker&, int file) { given += file >= 0 ? 1 : 0; };
    CacheLink bobs{world.cache(), kBob, send};
    const auto begin = [&] {
        bobs.on_message(WorkerBegun{.stamp = stamp(1), .bytes = kSize},
                        UntrustedFd{world.text_file(part(1, 3))});
    };
    begin();
    WorkerOutcome outcome;
    bobs.on_message(outcome, {});
    bobs.on_worker_ended();
    world.run_until([&] { return world.counters.cache_parts == 1; });
    CHECK_FALSE(world.sought(kAlice, 1));
    CHECK(world.sought(kBob, 1) == 3);
    CacheLink alices{world.cache(), kAlice, send};
    alices.on_message(WorkerSeek{stamp(1)}, {});
    CHECK(given == 0);
    bobs.on_message(WorkerSeek{stamp(1)}, {});
    CHECK(given == 1);
    begin();
    outcome.state = VerdictState::ok;
    bobs.on_message(outcome, {});
    CHECK_FALSE(world.sought(kBob, 1));
}

TEST_CASE("a file that becomes whole leaves no part, new or old", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    world.break_off(kAlice, 1, part(1, 3));
    world.break_off(kBob, 1, part(1, 1));
    CHECK(world.files() == 2);
    const auto member = world.begin(kAlice, 1, part(1, 4));
    world.cache().whole(member);
    world.cache().leave(member);
    CHECK_FALSE(world.sought(kAlice, 1));
    CHECK(world.sought(kBob, 1) == 1);
    CHECK(world.files() == 1);
    // And when the whole file is kept.
    world.keep(world.cache().enter(), kBob, stamp(1), "whole", "whole");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    CHECK(world.files() == 1);
    CHECK(world.cached_text(world.cache().enter(), kBob, stamp(1)) == "whole");
}

TEST_CASE("a worker that seeks a file that is here whole gets all of it", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    world.keep(world.cache().enter(), kAlice, stamp(1), "whole", "whole");
    world.run_until([&] { return world.counters.cache_kept == 1; });
    int answers = 0;
    world.cache().seek(
        world.cache().enter(), kAlice, stamp(1), [&](const WorkerCacheReply& reply, int file) {
            ++answers;
            CHECK(content_of_bytes(reply.content));
            CHECK(file >= 0);
        });
    CHECK(answers == 1);
}

TEST_CASE("a later part takes an earlier one's place if it is not less", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    world.break_off(kAlice, 1, part(1, 2));
    world.break_off(kAlice, 1, part(1, 3));
    CHECK(world.sought(kAlice, 1) == 3);
    const std::uint64_t taken = world.cache().index().taken();
    const auto member = world.begin(kAlice, 1, part(1, 1));
    world.cache().leave(member);
    world.run_until([&] { return world.files() == 2; });  // It is being copied,
    world.run_until([&] { return world.files() == 1; });  // and thrown away.
    CHECK(world.sought(kAlice, 1) == 3);
    CHECK(world.cache().index().taken() == taken);
}

TEST_CASE("parts are within the quota, and what is used less goes for them", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world{8U << 20U};
    for (unsigned number = 1; number <= 4; ++number) {
        world.break_off(kAlice, number, part(number, 3));
        CHECK(world.cache().index().taken() <= 8U << 20U);
    }
    CHECK(world.counters.cache_evicted == 2);
    CHECK(world.files() == 2);
    // One for which there is no room at all sends nothing away.
    Parts small{3U << 20U};
    small.keep(small.cache().enter(), kAlice, stamp(9), "kept", "kept");
    small.run_until([&] { return small.counters.cache_kept == 1; });
    small.cache().leave(small.begin(kAlice, 1, part(1, 3)));
    small.run_until([&] { return small.files() == 1; });  // Its draft has gone.
    small.break_off(kAlice, 2, part(2, 1));
    CHECK_FALSE(small.sought(kAlice, 1));
    CHECK(small.cached_text(small.cache().enter(), kAlice, stamp(9)) == "kept");
}

TEST_CASE("a part that a worker makes up is not kept", "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    world.cache().leave(world.begin(kBob, 1, part(2, 3)));        // Another file's note.
    world.cache().leave(world.begin(kBob, 3, "no part at all"));  // None.
    const auto member = world.cache().enter();
    world.cache().begun(member,
                        kBob,
                        {.stamp = stamp(4), .bytes = ~std::uint64_t{0}},
                        UntrustedFd{world.text_file(part(4, 3))});
    world.cache().leave(member);
    world.break_off(kBob, 5, part(5, 1));
    world.run_until([&] { return world.files() == 1; });
    for (const unsigned number : {1U, 2U, 3U, 4U}) {
        CHECK_FALSE(world.sought(kBob, number));
    }
}

TEST_CASE("a stage that begins many files, and a user that has many, leave places to others",
          "[root]") {
    if (!is_root()) {
        return;
    }
    Parts world;
    const UniqueFd file{::memfd_create("x", MFD_CLOEXEC)};
    const auto open_files = [] {
        const std::filesystem::directory_iterator all{"/proc/self/fd"};
        return std::distance(std::filesystem::begin(all), std::filesystem::end(all));
    };
    const auto before = open_files();
    const auto at_most = [&](long most) {  // A thread closes what is not kept.
        world.run_until([&] { return open_files() <= before + most; });
    };
    std::vector<NodeCache::Member> members;
    for (unsigned stages = 0; stages < 100; ++stages) {
        members.push_back(world.cache().enter());
        for (unsigned number = 0; number < 2 * kMaxBegun; ++number) {
            world.cache().begun(members.back(),
                                kAlice,
                                {.stamp = stamp(number), .bytes = kSize},
                                UntrustedFd{UniqueFd{::dup(file.get())}});
        }
        at_most(static_cast<long>((stages + 1) * kMaxBegun));
    }
    at_most(256 + 8);
    for (const auto member : members) {
        world.cache().whole(member);
    }
}
