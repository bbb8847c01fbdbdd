// The C++ side of member.h.
#pragma once

#include "stager/mpi/bcast/short_group.h"
#include "stager/mpi/messages/call_message.h"
#include "transport/run/broadcast.h"
#include "transport/run/memory/memory_broadcast.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stage {

/// The second record of a member. The key goes by MPI to ranks that have the data anyway.
struct MemberCard {
    std::string release;           ///< The library's release.
    IpAddress host;                ///< For messages.
    std::vector<std::byte> place;  ///< The member's place in the fabric.
    std::vector<std::byte> rdma;   ///< Its place for short messages by RDMA; empty: none.
    seal::Incarnation incarnation{};
    seal::GroupKey key{};  ///< Member 0's counts, as do the next two.
    seal::SessionId session{};
    std::uint32_t draw = 0;
    std::string why;  ///< Not empty: it has none of the above.
};

class GroupMember {
  public:
    /// The first record: where this host may be reached, or the address alone of the interface
    /// that STAGECAST_INTERFACE names.
    [[nodiscard]] std::vector<std::byte> addresses() const;
    /// Opens the own socket in a network that all have, and with `is_short` an RDMA device if
    /// there is one. Returns the second record: a card, or why there is none.
    [[nodiscard]] std::vector<std::byte> meet(const std::vector<Bytes>& records,
                                              Rank own,
                                              bool is_short);
    /// Fails if any member has no card, or of another release.
    [[nodiscard]] Status join(const std::vector<Bytes>& records);
    /// Requires that join() succeeded.
    [[nodiscard]] core::Outcome broadcast(Rank source,
                                          MutableBytes bytes,
                                          MemoryWatcher& watcher);

    /// Counts a session that the other members begin without this one.
    void skip();

    /// For short messages: by RDMA if all members can, otherwise by UDP. Requires that join()
    /// succeeded.
    [[nodiscard]] Status open_short();
    /// Requires that open_short() succeeded.
    [[nodiscard]] ShortGroup& short_group() { return *short_; }

    /// Bits per second, with which the next broadcast from here begins; 0: not known.
    [[nodiscard]] std::uint64_t rate() const { return rate_; }
    void set_rate(std::uint64_t rate) { rate_ = rate; }
    void set_error(std::string why) { error_ = std::move(why); }
    [[nodiscard]] const std::string& error() const { return error_; }

  private:
    [[nodiscard]] Result<MemberCard> open(const std::vector<Bytes>& records, bool is_short);
    /// The place of an RDMA device, or why there is none.
    [[nodiscard]] Result<std::vector<std::byte>> open_rdma();
    [[nodiscard]] Result<std::unique_ptr<ShortDatagrams>> short_datagrams();
    [[nodiscard]] Status open_driver(std::vector<std::vector<std::byte>> places);
    [[nodiscard]] std::string why_of(const core::Outcome& outcome) const;

    BroadcastConfig config_;
    Endpoint endpoint_;  ///< Until the members have met.
    std::string interface_;
    Address own_;                   ///< Without a port.
    std::vector<IpAddress> hosts_;  ///< By rank.
    Address group_;
    Address for_short_;  ///< The group of short messages.
    Endpoint rdma_;      ///< Theirs; without a fabric if they go by UDP.
    std::vector<std::vector<std::byte>> rdma_places_;  ///< By rank.
    std::unique_ptr<Driver> driver_;
    std::optional<ShortGroup> short_;
    std::uint32_t sessions_ = 0;  ///< Begun; the same on all members.
    std::uint64_t rate_ = 0;
    std::string error_;
};

}  // namespace stage
