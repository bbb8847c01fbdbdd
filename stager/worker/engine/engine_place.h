// Where does the file go that the engine alone is to bring?
//
// To any place that the caller may write: there is no site to say where.
#pragma once

#include "stager/files/sink/file_sink.h"
#include "stager/worker/engine/options.h"

namespace stage {

/// `destination` itself, or below it if it is a directory or ends in '/'.
[[nodiscard]] TargetPlace engine_place(const std::string& destination, const std::string& name);

[[nodiscard]] SinkConfig engine_sink(const EngineOptions& options, Rank own, std::size_t size);

}  // namespace stage
