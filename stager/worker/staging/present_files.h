// Finds files that a push need not send, because its destination has them already.
//
// By their attributes alone they may be the source's; their digest, which the source compares
// with its own, decides. Whatever stands in the way of finding out is no error: then the files
// are sent.
#pragma once

#include "stager/files/source/file_source.h"
#include "stager/worker/broadcast/interrupts.h"
#include "stager/worker/requests/orders.h"
#include "transport/os/clock.h"

#include <string>

namespace stage {

/// The files at the destinations of the source's files, to be read as a source. Fails if a
/// destination is not absolute, or its directory is missing or unsafe.
[[nodiscard]] Result<std::vector<SourceOrder>> at_destination(const Orders& orders);

/// Reads the whole content, until `until` at most, and returns its digest.
[[nodiscard]] Result<std::string> digest_by_reading(FileSource& source,
                                                    Interrupts& interrupts,
                                                    Instant until = Instant::max());

struct PresentFiles {
    std::uint64_t bytes = 0;
    std::string digest{};  ///< Empty: the files are missing or others.
};

/// Looks at what a push of the objects of `manifest`, as its source has encoded it, would
/// replace. `keeps_owners`: it would keep the source's owners; otherwise all becomes root's.
[[nodiscard]] PresentFiles present_files(const Orders& orders,
                                         Bytes manifest,
                                         bool keeps_owners,
                                         Interrupts& interrupts,
                                         Instant until);

}  // namespace stage
