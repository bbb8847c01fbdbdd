// Encodes the entries of a cleanup list: the files that a stage placed outside its directory,
// and the paths that it uses there.
//
// A cleanup list (spawn/cleanup_lists.h) is a sequence of entries, each ended by a NUL:
//
//     U/path               the stage uses what lies at this path; "U/": any path
//     X                    the stage has listed every path that it uses: "U/" no longer applies
//     /path                to remove with the stage, whatever has this name: a temporary name
//     INODE.BIRTH:/path    to remove with the stage, if it is still this file
//     L...                 one of the two entries above, for a file in a directory of libraries
//
//     /path/.              to remove with the stage, if it is an empty directory then
//
// A path that ends in a slash is a directory, to be removed with all that is in it. The inode
// and the time of birth are part of an entry because another stage may give the name to another
// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The stage uses `path` and all below it; "/": it may use any path.
[[nodiscard]] std::string use_entry(const std::string& path);
/// The stage has listed all that it uses.
inline constexpr const char* kAllUsesListed = "X";

/// Removes the file at `path` that is open as `own`, a descriptor of any kind. If the file
/// system cannot identify the file, the entry is the path alone.
[[nodiscard]] std::string removal_entry(const std::string& path, int own);

/// Turns `entry` into the entry of a program's library.
[[nodiscard]] std::string library_entry(const std::string& entry);

/// Removes `path` if it is empty: a directory that was made for a destination in it.
[[nodiscard]] std::string parent_entry(const std::string& path);

/// Identifies the file `name` in the open directory `at`, for as long as its file system
/// exists. Returns "" if there is no such file or it cannot be identified. With an empty name
/// it identifies the open file `at`.
[[nodiscard]] std::string file_identity(int at, const std::string& name);

struct CleanupEntry {
    enum class Kind : unsigned char { use, all_listed, remove } kind = Kind::remove;
    std::string identity;  ///< The result of file_identity(); empty: any file of that name.
    std::string path;      ///< Absolute in a valid list; without a final slash.
    bool is_directory = false;
    bool is_library = false;
    bool is_parent = false;  ///< parent_entry()
};
[[nodiscard]] CleanupEntry parse_cleanup_entry(const std::string& text);

/// Splits a list's text into its complete entries; a last one without its NUL is dropped.
[[nodiscard]] std::vector<std::string> split_cleanup_list(std::string_view text);

}  // namespace stage
