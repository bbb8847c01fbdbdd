#include "stager/mpi/bcast/member.h"

#include "stager/mpi/bcast/group_member.h"
#include "transport/base/codec.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>

namespace stage {
namespace {

/// Asks the caller of member.h.
class Asking final : public MemoryWatcher {
  public:
    Asking(stagecast_may_leave function, void* context)
        : may_leave_{function}, context_{context} {}

    bool may_leave(const core::Outcome& outcome) override {
        return may_leave_(context_, state_of(outcome.phase)) != 0;
    }

    static int state_of(core::Phase phase) {
        switch (phase) {
            case core::Phase::wiring:
            case core::Phase::moving:
                return STAGECAST_MOVES;
            case core::Phase::holding:
            case core::Phase::released:
                return STAGECAST_HOLDS;
            default:
                return STAGECAST_FAILS;
        }
    }

  private:
    stagecast_may_leave may_leave_;
    void* context_;
};

/// A record begins with the number of its bytes. One that makes no sense is empty, which its
/// readers take for one of a member that failed.
std::vector<Bytes> records_in(const unsigned char* all, std::size_t count) {
    const Bytes bytes{reinterpret_cast<const std::byte*>(all), count * STAGECAST_RECORD_BYTES};
    std::vector<Bytes> records;
    for (std::size_t i = 0; i < count; ++i) {
        ByteReader in{bytes.subspan(i * STAGECAST_RECORD_BYTES, STAGECAST_RECORD_BYTES)};
        records.push_back(in.blob(STAGECAST_RECORD_BYTES));
    }
    return records;
}

void write_record(Bytes bytes, unsigned char* record) {
    ByteWriter out;
    out.blob(bytes);
    if (out.view().size() <= STAGECAST_RECORD_BYTES) {
        std::memcpy(record, out.view().data(), out.view().size());
    }
}

}  // namespace
static_assert(kShortBytes == STAGECAST_SHORT_BYTES);

}  // namespace stage

struct stagecast_member {
    stage::GroupMember group;
    std::size_t count = 0;
};

extern "C" {

stagecast_member* stagecast_member_open(unsigned char* record) {
    std::memset(record, 0, STAGECAST_RECORD_BYTES);
    try {
        auto member = std::make_unique<stagecast_member>();
        stage::write_record(member->group.addresses(), record);
        return member.release();
    } catch (const std::exception&) {
        return nullptr;
    }
}

void stagecast_member_meet(stagecast_member* member,
                           const unsigned char* records,
                           int count,
                           int own,
                           int is_short,
                           unsigned char* record) {
    std::memset(record, 0, STAGECAST_RECORD_BYTES);
    if (member == nullptr) {
        return;
    }
    try {
        member->count = static_cast<std::size_t>(count);
        stage::write_record(member->group.meet(stage::records_in(records, member->count),
                                               stage::Rank{static_cast<std::uint16_t>(own)},
                                               is_short != 0),
                            record);
    } catch (const std::exception& failed) {
        member->group.set_error(failed.what());
    }
}

int stagecast_member_open_short(stagecast_member* member) {
    if (member == nullptr) {
        return 0;
    }
    try {
        return member->group.open_short() ? 1 : 0;
    } catch (const std::exception&) {
        return 0;
    }
}

int stagecast_member_join(stagecast_member* member, const unsigned char* records) {
    if (member == nullptr) {
        return 0;
    }
    try {
        const stage::Status joined =
            member->group.join(stage::records_in(records, member->count));
        if (!joined) {
            member->group.set_error(joined.error().sentence());
        }
        return joined ? 1 : 0;
    } catch (const std::exception& failed) {
        member->group.set_error(failed.what());
        return 0;
    }
}

int stagecast_member_broadcast(stagecast_member* member,
                               int source,
                               void* bytes,
                               size_t count,
                               stagecast_may_leave may_leave,
                               void* context) {
    try {
        stage::Asking asking{may_leave, context};
        const stage::core::Outcome outcome =
            member->group.broadcast(stage::Rank{static_cast<std::uint16_t>(source)},
                                    stage::MutableBytes{static_cast<std::byte*>(bytes), count},
                                    asking);
        return stage::Asking::state_of(outcome.phase);
    } catch (const std::exception& failed) {
        member->group.set_error(failed.what());
        return STAGECAST_FAILS;
    }
}

void stagecast_member_skip(stagecast_member* member) {
    member->group.skip();
}

uint64_t stagecast_member_rate(const stagecast_member* member) {
    return member->group.rate();
}

void stagecast_member_set_rate(stagecast_member* member, uint64_t rate) {
    member->group.set_rate(rate);
}

int stagecast_member_send_short(stagecast_member* member,
                                uint64_t call,
                                const void* bytes,
                                size_t count) {
    try {
        member->group.short_group().send(
            call, stage::Bytes{static_cast<const std::byte*>(bytes), count});
        return static_cast<int>(stage::short_fragments(count));
    } catch (const std::exception&) {
        return 0;  // Memory is exhausted: it goes by the ring.
    }
}

int stagecast_member_take_short(
    stagecast_member* member, uint64_t call, int source, void* bytes, size_t count) {
    try {
        const stage::Bytes message = member->group.short_group().receive(
            call, stage::Rank{static_cast<std::uint16_t>(source)}, count);
        std::ranges::copy(message, static_cast<std::byte*>(bytes));
        return message.empty() ? 0 : 1;
    } catch (const std::exception&) {
        return 0;  // Memory is exhausted: it comes by the ring.
    }
}

const char* stagecast_member_error(const stagecast_member* member) {
    return member == nullptr ? "memory is exhausted" : member->group.error().c_str();
}

void stagecast_member_close(stagecast_member* member) {
    const std::unique_ptr<stagecast_member> owner{member};
}
}
