module ninepocket/clients/go

go 1.24
