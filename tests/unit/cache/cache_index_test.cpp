#include "stager/cache/cache_index.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

Content content(unsigned number) {
    Content made;
    made.key[0] = static_cast<std::byte>(number);
    return made;
}
SourceStamp stamp_no(unsigned number) {
    return {static_cast<std::byte>(number)};
}
CacheKey entry(unsigned number, std::uint32_t uid = 7) {
    return {.uid = uid, .content = content(number)};
}
/// An entry that takes that many bytes of the disk, including its name.
CacheIndex::Size disk(std::uint64_t taken) {
    return {.bytes = 1, .on_disk = taken - kNameTakes};
}

}  // namespace

TEST_CASE("the least recently used entry is evicted first, entries in use stay") {
    CacheIndex index;
    index.set_quota(100'000);
    index.put(entry(1), disk(30'000), 1000);
    index.put(entry(2), disk(30'000), 900);
    index.put(entry(3), disk(30'000), 1100);
    CHECK(index.taken() == 90'000);
    CHECK(index.room_for(10'000) == std::vector<CacheKey>{});
    CHECK(index.room_for(10'001) == std::vector<CacheKey>{entry(2)});
    CHECK(index.room_for(50'000) == std::vector<CacheKey>{entry(2), entry(1)});
    CHECK_FALSE(index.room_for(100'001));
    index.use(entry(2), 1200);
    index.use(entry(2), 1200);
    CHECK(index.room_for(40'000) == std::vector<CacheKey>{entry(1)});
    CHECK_FALSE(index.room_for(100'000));
    CHECK(index.could_take(70'000));
    CHECK_FALSE(index.could_take(70'001));
    index.leave(entry(2));
    CHECK_FALSE(index.room_for(100'000));
    index.leave(entry(2));
    CHECK(index.room_for(100'000) == std::vector<CacheKey>{entry(1), entry(3), entry(2)});
    index.use(entry(1), 1300);
    index.remove(entry(1));
    CHECK(index.could_take(100'000));
}

TEST_CASE(
    "of small files no more are remembered than a daemon should, whatever room there is") {
    CacheIndex index;
    index.set_quota(1ULL << 50U);
    for (std::uint32_t uid = 0; uid < kEntriesMax; ++uid) {
        index.put(entry(1, uid), disk(10'000), uid);
        if (uid + 2 == kEntriesMax) {
            CHECK(index.room_for(10'000) == std::vector<CacheKey>{});
        }
    }
    CHECK(index.room_for(10'000) == std::vector<CacheKey>{entry(1, 0)});
    index.use(entry(1, 0), kEntriesMax);
    CHECK(index.room_for(10'000) == std::vector<CacheKey>{entry(1, 1)});
}

TEST_CASE("reserved room is taken") {
    CacheIndex index;
    index.set_quota(100);
    index.reserve(60);
    CHECK_FALSE(index.room_for(41));
    CHECK(index.room_for(40));
    CHECK(index.could_take(100));  // Which may come to nothing.
    index.unreserve(60);
    CHECK(index.room_for(100));
}

TEST_CASE("an entry counts with its disk space, including its names") {
    CHECK(least_taken(0) == kNameTakes);
    CHECK(least_taken(1) == 4096 + kNameTakes);
    CHECK(least_taken(4096) == 4096 + kNameTakes);
    CHECK(least_taken(4097) == 8192 + kNameTakes);
    CHECK(least_taken(~std::uint64_t{0}) > std::uint64_t{1} << 60U);
    CacheIndex index;
    index.set_quota(1'000'000);
    index.put(entry(1), {.bytes = 1, .on_disk = 0}, 1);  // Not known yet.
    CHECK(index.taken() == least_taken(1));
    index.put(entry(2), {.bytes = 1, .on_disk = 65'536}, 1);
    CHECK(index.taken() == least_taken(1) + 65'536 + kNameTakes);
    CHECK(index.bytes_of(entry(2)) == 1);
    index.remove(entry(2));
    for (unsigned number = 1; number <= kStampsOfEntryMax + 1; ++number) {
        static_cast<void>(index.learn(7, stamp_no(number), content(1)));
        static_cast<void>(index.learn(7, stamp_no(number), content(1)));
    }
    CHECK(index.taken() == least_taken(1) + kStampsOfEntryMax * kNameTakes);
    index.remove(entry(1));
    CHECK(index.taken() == 0);
}

TEST_CASE("a smaller quota evicts the excess") {
    CacheIndex index;
    index.set_quota(100'000);
    index.put(entry(1), disk(60'000), 1);
    index.put(entry(2), disk(40'000), 2);
    index.set_quota(50'000);
    CHECK(index.room_for(0) == std::vector<CacheKey>{entry(1)});
}

TEST_CASE("a user finds only own files, and removed entries are forgotten") {
    CacheIndex index;
    index.set_quota(100'000);
    index.put(entry(1), disk(10'000), 1);
    index.put(entry(1, 8), disk(10'000), 1);
    CHECK_FALSE(index.learn(7, stamp_no(5), content(1)));
    CHECK(index.find(7, stamp_no(5)) == content(1));
    CHECK_FALSE(index.find(8, stamp_no(5)));
    CHECK_FALSE(index.find(7, stamp_no(6)));
    index.remove(entry(1));
    CHECK_FALSE(index.find(7, stamp_no(5)));
    CHECK(index.has(entry(1, 8)));
    CHECK(index.taken() == 10'000);
    index.leave(entry(1));
    index.remove(entry(1));
    CHECK(index.taken() == 10'000);
}

TEST_CASE("the known files of one content are limited, the first learnt is forgotten first") {
    CacheIndex index;
    index.put(entry(1), disk(9'000), 1);
    index.put(entry(2), disk(9'000), 1);
    for (unsigned number = 1; number <= kStampsOfEntryMax; ++number) {
        CHECK_FALSE(index.learn(7, stamp_no(number), content(1)));
    }
    CHECK_FALSE(index.learn(7, stamp_no(2), content(1)));  // Again: the last now.
    CHECK(index.learn(7, stamp_no(100), content(1)) == stamp_no(1));
    CHECK_FALSE(index.find(7, stamp_no(1)));
    CHECK_FALSE(index.learn(7, stamp_no(3), content(2)));  // It has another content now.
    CHECK(index.stamps_of(entry(1)).size() == kStampsOfEntryMax - 1);
    index.remove(entry(1));
    CHECK_FALSE(index.find(7, stamp_no(2)));
    CHECK_FALSE(index.find(7, stamp_no(100)));
    CHECK(index.find(7, stamp_no(3)) == content(2));
}
