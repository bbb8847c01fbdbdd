// Records why an archive could not be read, in the words of the library.
//
// For the archive's owner there is a difference between a damaged archive and an intact one in
// a format that this node does not support.
#pragma once

#include <string>

struct archive;

namespace stage {

struct ReadTrouble {
    enum class Kind : unsigned char {
        none,
        damaged,      ///< Its own checksums, lengths or structure prove it.
        unsupported,  ///< A password, an unknown method, or more memory than is allowed.
        unreadable,   ///< The received bytes cannot be read here; `cause` says why.
    };

    Kind kind = Kind::none;
    std::string why{};
    int cause = 0;  ///< errno.

    [[nodiscard]] bool is_set() const { return kind != Kind::none; }
    /// Keeps the first trouble: later ones are its consequences.
    void set(ReadTrouble trouble) {
        if (!is_set()) {
            *this = std::move(trouble);
        }
    }
};

/// Describes libarchive's last failure.
[[nodiscard]] ReadTrouble trouble_of(archive* one);

}  // namespace stage
