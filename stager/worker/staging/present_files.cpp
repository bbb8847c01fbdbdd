#include "stager/worker/staging/present_files.h"

#include "stager/files/manifest/attributes.h"
#include "stager/files/manifest/tree_node.h"
#include "stager/files/target/partial.h"
#include "stager/files/target/target_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace stage {
namespace {

/// Whether a push would leave such files alone: without owners one with set-id bits is refused,
/// and of a tree the source's digest says nothing of owners.
bool may_be_present(const ManifestEntry& sent, bool keeps_owners) {
    return sent.trouble.empty() &&
           (keeps_owners ? !sent.is_tree() : (sent.mode & kSetIdBits) == 0);
}

/// What is seen without reading. A push replaces a link at the destination, whatever it leads
/// to, and removes the part that an interrupted one left.
bool may_stay(const TargetPlace& place, const ManifestEntry& sent) {
    const auto directory = open_target_directory(place);
    if (!directory) {
        return false;
    }
    struct stat status {};
    struct stat part {};
    const int at = directory->fd.get();
    return ::fstatat(at, place.name().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           (sent.is_tree()
                ? S_ISDIR(status.st_mode)
                : S_ISREG(status.st_mode) && status.st_mtim.tv_sec == sent.mtime.seconds) &&
           ::fstatat(at, partial_name(place.name()).c_str(), &part, AT_SYMLINK_NOFOLLOW) != 0;
}

/// A tree's attributes are in its index, which is read with its content.
bool may_be(const ManifestEntry& copy, const ManifestEntry& sent, bool keeps_owners) {
    // (Some file systems keep whole seconds.)
    const bool is_same_time =
        copy.mtime == sent.mtime ||
        (copy.mtime.seconds == sent.mtime.seconds && copy.mtime.nanoseconds == 0);
    if (copy.is_tree() != sent.is_tree() || copy.size != sent.size || !is_same_time) {
        return false;
    }
    TreeNode there = node_of(copy);
    there.mtime = sent.mtime;
    TreeNode wanted = keeps_owners ? node_of(sent) : without_owner(node_of(sent));
    there.name = wanted.name;
    return sent.is_tree() || there == wanted;
}

Result<std::unique_ptr<FileSource>> open_copy(const Orders& orders) {
    TRY(auto list, at_destination(orders));
    return FileSource::open(list, 0, {}, page_room() / 2);
}

}  // namespace

Result<std::vector<SourceOrder>> at_destination(const Orders& orders) {
    Result<std::vector<SourceOrder>> list = orders.sources();
    const std::vector<TargetPlace> places = orders.places_outside();
    if (!list || places.size() != list->size()) {
        return list ? Error{Blame::user, "only absolute destinations can be compared"}
                    : std::move(list).error();
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
        TRY(open_target_directory(places[i]));
        (*list)[i].path = places[i].path();
    }
    return list;
}

Result<std::string> digest_by_reading(FileSource& source,
                                      Interrupts& interrupts,
                                      Instant until) {
    std::vector<std::byte> room(kBlockBytes);
    for (std::uint32_t block = 0; block < source.block_count(); ++block) {
        TRY(interrupts.check());
        if (read_clock() > until) {
            return Error{Blame::node, "reading the content takes too long"};
        }
        TRY(source.read(BlockIndex{block}, room));
    }
    return source.digest();
}

PresentFiles present_files(const Orders& orders,
                           Bytes manifest,
                           bool keeps_owners,
                           Interrupts& interrupts,
                           Instant until) {
    const auto sent = decode_manifest(manifest);
    const auto places = orders.places_outside();
    // (A push has one source and one destination.)
    if (!sent || sent->entries.size() != 1 || places.size() != 1 ||
        !may_be_present(sent->entries.front(), keeps_owners) ||
        !may_stay(places.front(), sent->entries.front())) {
        return {};
    }
    const auto copy = open_copy(orders);
    if (!copy || !std::ranges::equal((*copy)->manifest().entries,
                                     sent->entries,
                                     [&](const auto& there, const auto& wanted) {
                                         return may_be(there, wanted, keeps_owners);
                                     })) {
        return {};
    }
    auto digest = digest_by_reading(**copy, interrupts, until);
    if (!digest || !(*copy)->finish()) {
        return {};
    }
    return {.bytes = (*copy)->manifest().stream_bytes(), .digest = *std::move(digest)};
}

}  // namespace stage
