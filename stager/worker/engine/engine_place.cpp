#include "stager/worker/engine/engine_place.h"

#include <boost/filesystem.hpp>

namespace stage {

TargetPlace engine_place(const std::string& destination, const std::string& name) {
    boost::system::error_code ignored;
    const boost::filesystem::path path{destination};
    TargetPlace place;
    if (destination.ends_with('/') || boost::filesystem::is_directory(path, ignored)) {
        place.root = destination;
        place.below = name;
        return place;
    }
    place.root = path.parent_path().string();
    place.below = path.filename().string();
    return place;
}

SinkConfig engine_sink(const EngineOptions& options, Rank own, std::size_t size) {
    SinkConfig config;
    config.page_room = page_room();
    config.spill_directory = engine_place(options.destination, "").root;
    config.writer = {
        .job = "0", .rank = own.value(), .group_size = static_cast<std::uint32_t>(size)};
    config.order_of = [destination = options.destination, is_durable = options.is_durable](
                          const ManifestEntry& entry) -> Result<SinkOrder> {
        SinkOrder order;
        order.target.place = engine_place(destination, entry.name);
        order.target.existing = Existing::overwrite;
        order.target.is_durable = is_durable;
        return order;
    };
    return config;
}

}  // namespace stage
