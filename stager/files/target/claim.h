// Is the directory that a file should go to really this node's own?
//
// Every member puts an empty file with its temporary name there before the cards are exchanged,
// and looks for its successor's afterwards. The exchange ends only when everybody has begun it,
// so whoever looks first finds all claims: on a shared file system somebody finds one of
// another's, however small the file and however late a member. It takes all of them away before
// it fails, each before its successor's: who comes later finds its own gone and fails as well.
// Nobody writes there, not even while the first failure is on its way to the others.
// (target_file.h looks again while it writes, for destinations that are known only then.)
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
    /// Removes what is left of them.
    ~Claims();

    /// What can't be claimed (no such directory, no right) is not: writing will tell, if it
    /// comes to that.
    void claim(const TargetPlace& place, const Writer& writer);

    /// Where the claims are: what must go if this process is killed.
    [[nodiscard]] std::vector<std::string> paths() const;

    /// Looks for others' and removes the own. Fails (Blame::user) naming the file.
    [[nodiscard]] Status settle();

  private:
    struct Claim {
        TargetDirectory directory;
        std::string name;  ///< Of the file that should be there.
        std::string path;
        Writer writer;
        UniqueFd file;  ///< Holds the lock.

        /// The temporary name of the member that many ranks further on.
        [[nodiscard]] std::string claim_of(std::uint32_t step) const;
        [[nodiscard]] bool is_shared() const;
        void take_away(std::uint32_t step) const;
    };

    std::vector<Claim> claims_;
};

}  // namespace stage
