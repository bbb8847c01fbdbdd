// Detects a destination directory that several members of the group share.
//
// Before the cards are exchanged, every member puts an empty file with its temporary name (a
// claim) into the directory, and afterwards looks for the claim of its successor. The exchange
// ends only when every member has begun it, so the first member to look finds all claims: on a
// shared file system a member always finds another one's, however small the file and however
// late a member. It removes all claims before it fails, each before its successor's, so that a
// later member misses its own claim and fails as well. So no member writes there, not even
// while the first failure is on its way to the others. (target_file.h checks again while it
// writes, for destinations that are known only then.)
#pragma once

#include "stager/files/target/target.h"

#include <vector>

namespace stage {

class Claims {
  public:
    Claims() = default;
    Claims(Claims&& other) noexcept = default;
    Claims& operator=(Claims&& other) = delete;
    Claims(const Claims&) = delete;
    Claims& operator=(const Claims&) = delete;
    /// Removes the claims that are left.
    ~Claims();

    /// Prepares a claim. If that fails (no such directory, another user's file), there is none:
    /// writing will report the error, if it comes to that.
    void prepare(const TargetPlace& place, const Writer& writer);

    /// What make() makes, and what must be removed if this process is killed.
    [[nodiscard]] std::vector<std::string> paths() const;
    /// Makes the claims that were prepared, except those for which it has no permission.
    void make();

    /// Looks for other members' claims and removes its own. Fails (Blame::user) naming the
    /// file.
    [[nodiscard]] Status settle();

  private:
    struct Claim {
        TargetDirectory directory;
        std::string name;  ///< The file for which the claim is made.
        std::string path;
        Writer writer;
        UniqueFd file;  ///< Holds the lock. Not open: only prepared.

        /// Makes the file, if it can.
        [[nodiscard]] bool is_made();
        /// The temporary name of the member `step` ranks further on.
        [[nodiscard]] std::string claim_of(std::uint32_t step) const;
        [[nodiscard]] bool is_shared() const;
        void take_away(std::uint32_t step) const;
    };

    std::vector<Claim> claims_;
};

}  // namespace stage
