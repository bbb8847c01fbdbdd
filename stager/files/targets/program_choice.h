// Decides for each program with libraries whether it replaces what stands at its destinations.
//
// `newer` replaces a program with all its libraries, or leaves them all, as it does with the
// members of a directory: versions are never mixed. `keep` leaves the libraries of a program
// that is there; where the program is not, they are of another version.
#pragma once

#include "stager/files/manifest/manifest.h"
#include "stager/files/targets/sink_targets.h"

#include <vector>

namespace stage {

/// `orders`: by entry of the manifest; those of programs with `newer` or `keep` are changed.
void choose_programs(const Manifest& manifest, std::vector<SinkOrder>& orders);

}  // namespace stage
