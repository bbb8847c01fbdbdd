// The entries of a cleanup list: what a stage left outside its directory, and what it uses
// there.
//
// A cleanup list (spawn/cleanup_lists.h) is a sequence of entries, each ended by a NUL:
//
//     U/path               the stage uses what lies at this path; "U/": any path
//     X                    the stage has told every path that it uses: "U/" holds no more
//     /path                to remove with the stage, whatever has this name: a temporary name
//     INODE.BIRTH:/path    to remove with the stage, if it is still this file
//     L...                 one of these two, and then the directory of libraries it lies in
//
//     /path/.              to remove with the stage, if it is an empty directory then
//
// A path that ends in a slash is a directory's, to be removed with all that is in it. The inode
// and the time of birth are there because another stage may give the name to another file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stage {

/// The stage uses `path` and all below it; "/": any path.
[[nodiscard]] std::string use_entry(const std::string& path);
/// The stage has told all that it uses.
inline constexpr const char* kAllUsesTold = "X";

/// To remove: what stands at `path` and is open as `own`, a descriptor of any kind. Where the
/// file system can't identify it the entry is the path alone.
[[nodiscard]] std::string removal_entry(const std::string& path, int own);

/// The same entry for a program's library.
[[nodiscard]] std::string library_entry(const std::string& entry);

/// To remove if it is empty: a directory that was made for what lies in it.
[[nodiscard]] std::string parent_entry(const std::string& path);

/// Identifies the file that has `name` in the open directory `at`, for as long as its file
/// system lives; empty: there is none, or it can't be told. Empty name: the open file `at`.
[[nodiscard]] std::string file_identity(int at, const std::string& name);

struct CleanupEntry {
    enum class Kind : unsigned char { use, all_told, remove } kind = Kind::remove;
    std::string identity;  ///< As file_identity(); empty: whatever has the name.
    std::string path;      ///< Absolute if the list is sound; without a final slash.
    bool is_directory = false;
    bool is_library = false;
    bool is_parent = false;  ///< parent_entry()
};
[[nodiscard]] CleanupEntry parse_cleanup_entry(const std::string& text);

/// The whole entries of a list's text; the beginning of one that no NUL ends is dropped.
[[nodiscard]] std::vector<std::string> split_cleanup_list(std::string_view text);

}  // namespace stage
