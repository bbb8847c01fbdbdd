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

/// The JSON as a daemon's answer; a JSON that is too long is replaced by one that says so.
inline Report report_of(const nlohmann::json& content) {
    std::string text = json_text(content);
    return Report{text.size() <= kMaxReportBytes ? std::move(text)
                                                 : R"({"why":"too long to tell"})"};
}

}  // namespace stage
