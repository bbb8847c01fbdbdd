// Writes JSON that may contain text of other processes.
#pragma once

#include "stager/control/message.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace stage {

/// The JSON on one line. Bytes that are not UTF-8 (file names may have such) become U+FFFD;
/// dump() alone would throw.
inline std::string json_text(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The JSON, an object, as a daemon's answer. One that is too long loses its lists, and "why"
/// says so.
inline Report report_of(nlohmann::json content) {
    std::string text = json_text(content);
    if (text.size() <= kMaxReportBytes) {
        return Report{std::move(text)};
    }
    for (auto& [name, value] : content.items()) {
        if (value.is_array()) {
            value = nlohmann::json::array();
        }
    }
    content["why"] = "the report is too long, so its lists of nodes and stages are left out";
    return Report{json_text(content)};
}

}  // namespace stage
