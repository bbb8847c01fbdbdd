// Who reads a file that several stages of this node want at once?
//
// The first that asks; the others wait until what it read is in the cache, or until it won't
// be: then the next one reads. A stage that is being waited for never waits itself, so that no
// two wait for each other.
#pragma once

#include "stager/content/source_stamp.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace stage {

/// Files that are leased at one time, and of one user's: each may cost a connection to another
/// daemon. One more is read without a lease, and nobody waits for it.
inline constexpr std::size_t kLeasesMax = 1024;
inline constexpr std::size_t kLeasesOfUserMax = 256;
/// Readers of a file who had nothing to give on: then nobody waits for the next one.
inline constexpr unsigned kVainReadersMax = 2;

/// A file of a user.
struct LeasedFile {
    std::uint32_t uid = 0;
    SourceStamp stamp{};

    auto operator<=>(const LeasedFile&) const = default;
};

class Leases {
  public:
    using Holder = std::uint64_t;  ///< A stage, by a number of its own.

    /// False: it is to wait until settle() or leave() names it.
    [[nodiscard]] bool may_read(Holder asker, const LeasedFile& file);
    /// What it has read is on its way to the cache: the others wait even if its stage ends.
    void keep(Holder holder, const LeasedFile& file);
    [[nodiscard]] bool is_kept(const LeasedFile& file) const;
    /// That way has ended. Who is told now: all if it `is_known`, else the one that is to read;
    /// after kVainReadersMax of these all are to.
    [[nodiscard]] std::vector<Holder> settle(const LeasedFile& file, bool is_known);
    /// A stage has ended, or has waited long enough.
    struct Next {
        LeasedFile file;
        Holder reader = 0;
    };
    /// Of `undecided` files nobody has been told yet who reads them: their holder is succeeded
    /// by one, and has not read in vain.
    [[nodiscard]] std::vector<Next> leave(Holder holder,
                                          const std::set<LeasedFile>& undecided = {});

    /// Whom the others wait for, 0 if nobody reads it.
    [[nodiscard]] Holder holder_of(const LeasedFile& file) const;
    /// Others may be waiting for that stage.
    [[nodiscard]] bool holds_any(Holder holder) const;
    [[nodiscard]] bool empty() const { return leases_.empty(); }

  private:
    struct Lease {
        Holder holder = 0;
        bool is_kept = false;
        unsigned vain_readers = 0;
        std::deque<Holder> waiting;
    };

    [[nodiscard]] bool has_room_for(std::uint32_t uid) const;
    [[nodiscard]] std::vector<Holder> pass_on(const LeasedFile& file, bool to_all);

    std::map<LeasedFile, Lease> leases_;
};

}  // namespace stage
