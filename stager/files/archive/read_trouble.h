// Says why the bytes or the members of an archive could not be read, in the library's words.
//
// Whether an archive is damaged, or whole and of a kind that this node has no means for, makes
// a difference to its owner.
#pragma once

#include <string>

struct archive;

namespace stage {

struct ReadTrouble {
    enum class Kind : unsigned char {
        none,
        damaged,      ///< Its own checksums, lengths or structure say so.
        unsupported,  ///< A password, an unknown method, more memory than is given to it.
        unreadable,   ///< Its bytes, which arrived, can't be read here; `cause` says why.
    };

    Kind kind = Kind::none;
    std::string why{};
    int cause = 0;  ///< errno.

    [[nodiscard]] bool is_set() const { return kind != Kind::none; }
    /// The first trouble counts: those behind it follow from it.
    void set(ReadTrouble trouble) {
        if (!is_set()) {
            *this = std::move(trouble);
        }
    }
};

/// What libarchive says of its last failure.
[[nodiscard]] ReadTrouble trouble_of(archive* one);

}  // namespace stage
