// Stages one archive from disk to disk and unpacks it.
#pragma once

#include "tests/unit/files/scratch.h"

#include <string>

namespace stage::test {

/// Unpacks `bytes`, named `name`, below `to` as "t"; returns the error message, or "ok".
inline std::string unpacking(const std::string& bytes,
                             const Scratch& to,
                             std::uint64_t max = 0,
                             const std::string& name = "x.tar",
                             std::uint16_t umask = kUsualUmask) {
    const Scratch from;
    const std::string path = from.write(name, bytes);
    const std::vector<Spec> specs{
        {.source = path, .root = to.path(), .below = "t", .is_unpacked = true}};
    SinkConfig config = sink_config(specs);
    config.bytes_max = max;
    config.order_of = [order_of = config.order_of,
                       umask](const ManifestEntry& entry) -> Result<SinkOrder> {
        Result<SinkOrder> order = order_of(entry);
        if (order) {
            order->target.umask = umask;
        }
        return order;
    };
    FileSink sink{std::move(config)};
    return said(deliver(object_of(specs), sink, 3));
}

}  // namespace stage::test
