#include "stager/cache/shelf.h"

#include <catch2/catch.hpp>

using namespace stage;

namespace {

Content content(unsigned number) {
    Content made;
    made.key[0] = static_cast<std::byte>(number);
    return made;
}
SourceStamp stamp(unsigned number) {
    return {static_cast<std::byte>(number)};
}
ShelfKey entry(unsigned number, std::uint32_t uid = 7) {
    return {.uid = uid, .content = content(number)};
}

}  // namespace

TEST_CASE("what was not used for the longest time goes first, what is in use stays") {
    Shelf shelf;
    shelf.set_quota(100);
    shelf.put(entry(1), 30, 1000);
    shelf.put(entry(2), 30, 900);
    shelf.put(entry(3), 30, 1100);
    CHECK(shelf.bytes() == 90);
    CHECK(shelf.room_for(10) == std::vector<ShelfKey>{});
    CHECK(shelf.room_for(11) == std::vector<ShelfKey>{entry(2)});
    CHECK(shelf.room_for(50) == std::vector<ShelfKey>{entry(2), entry(1)});
    CHECK_FALSE(shelf.room_for(101));
    shelf.use(entry(2), 1200);
    shelf.use(entry(2), 1200);
    CHECK(shelf.room_for(40) == std::vector<ShelfKey>{entry(1)});
    CHECK_FALSE(shelf.room_for(100));
    shelf.leave(entry(2));
    CHECK_FALSE(shelf.room_for(100));
    shelf.leave(entry(2));
    CHECK(shelf.room_for(100) == std::vector<ShelfKey>{entry(1), entry(3), entry(2)});
}

TEST_CASE("room that somebody fills is taken") {
    Shelf shelf;
    shelf.set_quota(100);
    shelf.reserve(60);
    CHECK_FALSE(shelf.room_for(41));
    CHECK(shelf.room_for(40));
    shelf.unreserve(60);
    CHECK(shelf.room_for(100));
}

TEST_CASE("a smaller quota sends away what is too much") {
    Shelf shelf;
    shelf.set_quota(100);
    shelf.put(entry(1), 60, 1);
    shelf.put(entry(2), 40, 2);
    shelf.set_quota(50);
    CHECK(shelf.room_for(0) == std::vector<ShelfKey>{entry(1)});
}

TEST_CASE("a user finds the own files only, and forgets what has gone") {
    Shelf shelf;
    shelf.set_quota(100);
    shelf.put(entry(1), 10, 1);
    shelf.put(entry(1, 8), 10, 1);
    CHECK_FALSE(shelf.learn(7, stamp(5), content(1)));
    CHECK(shelf.find(7, stamp(5)) == content(1));
    CHECK_FALSE(shelf.find(8, stamp(5)));
    CHECK_FALSE(shelf.find(7, stamp(6)));
    shelf.remove(entry(1));
    CHECK_FALSE(shelf.find(7, stamp(5)));
    CHECK(shelf.has(entry(1, 8)));
    CHECK(shelf.bytes() == 10);
    shelf.leave(entry(1));
    shelf.remove(entry(1));
    CHECK(shelf.bytes() == 10);
}

TEST_CASE("of one content so many files are known, the first learnt goes first") {
    Shelf shelf;
    shelf.put(entry(1), 3, 1);
    shelf.put(entry(2), 3, 1);
    for (unsigned number = 1; number <= kStampsOfEntryMax; ++number) {
        CHECK_FALSE(shelf.learn(7, stamp(number), content(1)));
    }
    CHECK_FALSE(shelf.learn(7, stamp(2), content(1)));  // Again: the last now.
    CHECK(shelf.learn(7, stamp(100), content(1)) == stamp(1));
    CHECK_FALSE(shelf.find(7, stamp(1)));
    CHECK_FALSE(shelf.learn(7, stamp(3), content(2)));  // It has another content now.
    CHECK(shelf.stamps_of(entry(1)).size() == kStampsOfEntryMax - 1);
    shelf.remove(entry(1));
    CHECK_FALSE(shelf.find(7, stamp(2)));
    CHECK_FALSE(shelf.find(7, stamp(100)));
    CHECK(shelf.find(7, stamp(3)) == content(2));
}
