#pragma once

#include "waste/result.h"

#include <QMetaObject>
#include <QObject>

#include <functional>
#include <memory>
#include <utility>

namespace waste::app {

// A callback for work on another thread: `function` gets the result on the thread of `context`, which has to
// outlive the work.
template<typename Value, typename Function>
std::function<void(Result<Value>)> onGuiThread(QObject* context, Function function)
{
    return [context, function = std::move(function)](Result<Value> result) {
        auto shared = std::make_shared<Result<Value>>(std::move(result));
        QMetaObject::invokeMethod(
            context, [function, shared] { function(std::move(*shared)); }, Qt::QueuedConnection);
    };
}

} // namespace waste::app
