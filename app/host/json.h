#pragma once

#include <nlohmann/json_fwd.hpp>

namespace waste::host {

using Json = nlohmann::ordered_json; // keys stay in the order in which they were written

} // namespace waste::host
