// Decides where the engine writes the file on this host.
//
// Any path that the caller may write is allowed: without a daemon no site configuration
// applies.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/worker/engine/options.h"

namespace stage {

/// Returns `destination` itself, or `name` below it if it is a directory or ends in '/'.
[[nodiscard]] TargetPlace engine_place(const std::string& destination, const std::string& name);

[[nodiscard]] SinkConfig engine_sink(const EngineOptions& options, Rank own, std::size_t size);

}  // namespace stage
